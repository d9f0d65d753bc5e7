package settle

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// backoff returns growing delays between attempts. The limit doubles from
// firstBackoff to maxBackoff. Each delay is random, from the upper half of the
// limit, so that nodes do not retry at the same time. The zero value is ready.
type backoff struct{ last time.Duration }

func (b *backoff) next() time.Duration {
	b.last = min(max(firstBackoff, 2*b.last), maxBackoff)
	return b.last/2 + rand.N(b.last/2) //nolint:gosec // a wait is no secret
}

// sleep waits for a duration, or until the context ends.
func sleep(ctx context.Context, delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
