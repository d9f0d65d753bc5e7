package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"laststand/internal/identity"
)

// Standing looks after calls that last: one ends when the token that it came with
// is barred, or its key retired, as a live websocket does. It is safe for
// concurrent use; with a nil one calls last as long as they like.
type Standing struct {
	stands func(identity.Claims) error

	mu    sync.Mutex
	calls map[*lasting]struct{}
}

// lasting is a call that lasts.
type lasting struct {
	claims identity.Claims
	end    context.CancelCauseFunc
}

// NewStanding looks after calls by what says whether the bearer of a token may
// still go on, which asks no store.
func NewStanding(stands func(identity.Claims) error) *Standing {
	return &Standing{stands: stands, calls: make(map[*lasting]struct{})}
}

// Recheck ends the calls that may not go on by what has changed. It waits for
// nothing.
func (s *Standing) Recheck() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if err := s.stands(c.claims); err != nil {
			c.end(err)
		}
	}
}

// enter has a call be looked after until leave, which is called in any case. Its
// context ends with the refusal as its cause.
func (s *Standing) enter(r *http.Request, c identity.Claims) (ctx context.Context, leave func()) {
	if s == nil {
		return r.Context(), func() {}
	}
	ctx, end := context.WithCancelCause(r.Context())
	call := &lasting{c, end}
	s.mu.Lock()
	s.calls[call] = struct{}{}
	s.mu.Unlock()
	if err := s.stands(c); err != nil { // it was barred after the token was looked at
		end(err)
	}
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, call)
		s.mu.Unlock()
		end(nil)
	}
}

// refusal is why a call was ended, nil where it was not.
func refusal(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return cause
	}
	return nil
}
