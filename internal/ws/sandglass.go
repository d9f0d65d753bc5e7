package ws

import (
	"context"
	"sync"
	"time"
)

// sandglass gives contexts that end within a while, and after nine tenths of it
// at the soonest. Requests share them: one of its own costs a request as much as
// its frame does to be read. The zero value is ready for use.
type sandglass struct {
	mu    sync.Mutex
	ctx   context.Context //nolint:containedctx // the newest, for all who come soon
	until time.Time       // when it ends
}

func (s *sandglass) context(within time.Duration) context.Context {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.until.Sub(now); left > within || left < within/10*9 {
		s.until = now.Add(within)
		ctx, cancel := context.WithDeadline(context.Background(), s.until)
		s.ctx, _ = ctx, cancel // it ends by itself: some have it when the next is made
	}
	return s.ctx
}
