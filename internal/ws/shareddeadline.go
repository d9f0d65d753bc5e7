package ws

import (
	"context"
	"sync"
	"time"
)

// sharedDeadline makes contexts that many requests share, since a context costs a
// request as much as reading its frame. A context ends after at most the given time and
// at least nine tenths of it. The zero value is ready for use.
//
// Example with 10 s: a call at 0 s makes a context that ends at 10 s; calls until 1 s
// get the same one.
type sharedDeadline struct {
	mu   sync.Mutex
	ctx  context.Context //nolint:containedctx // the newest context
	ends time.Time       // when ctx ends
}

func (d *sharedDeadline) context(within time.Duration) context.Context {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if left := d.ends.Sub(now); left > within || left < within/10*9 {
		d.ends = now.Add(within)
		ctx, cancel := context.WithDeadline(context.Background(), d.ends)
		d.ctx, _ = ctx, cancel // it ends by itself: other callers may still use it when the next is made
	}
	return d.ctx
}
