package ws

import (
	"context"
	"sync"
	"time"
)

// sharedDeadline returns contexts that many requests share, since making a context costs
// as much as reading a request's frame. A context ends between nine tenths of the
// requested time and the requested time. The zero value is ready for use. It is safe for
// concurrent use.
//
// Example with 10 s: a call at 0 s makes a context that ends at 10 s; calls until 1 s get
// the same context.
type sharedDeadline struct {
	mu     sync.Mutex
	ctx    context.Context //nolint:containedctx // the newest context
	endsAt time.Time       // when ctx ends
}

// context returns a context that ends after at most timeout.
func (d *sharedDeadline) context(timeout time.Duration) context.Context {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if remaining := d.endsAt.Sub(now); remaining > timeout || remaining < timeout/10*9 {
		d.endsAt = now.Add(timeout)
		ctx, cancel := context.WithDeadline(context.Background(), d.endsAt)
		d.ctx, _ = ctx, cancel // it ends by itself: other callers may still use it when the next is made
	}
	return d.ctx
}
