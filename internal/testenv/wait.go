package testenv

import (
	"context"
	"fmt"
	"time"
)

// Pause waits for a time. It returns the cause of ctx if that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Poll calls check again and again, with a pause in between, until it returns nil. If ctx ends
// first, Poll returns the cause of that and the last error of check.
func Poll(ctx context.Context, interval time.Duration, check func() error) error {
	for {
		err := check()
		if err == nil {
			return nil
		}
		if ended := Pause(ctx, interval); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}
