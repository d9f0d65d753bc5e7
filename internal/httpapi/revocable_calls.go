package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"laststand/internal/identity"
)

// RevocableCalls cancels long calls when their token is revoked or the key of
// the token is retired. It is safe for concurrent use. A nil RevocableCalls
// cancels nothing.
type RevocableCalls struct {
	checkClaims func(identity.Claims) error

	mu    sync.Mutex
	calls map[*revocableCall]struct{}
}

// revocableCall is one tracked call.
type revocableCall struct {
	claims identity.Claims
	end    context.CancelCauseFunc
}

// NewRevocableCalls returns an empty set of calls. checkClaims returns an error
// if the bearer of a token must stop. It must not call a store.
func NewRevocableCalls(checkClaims func(identity.Claims) error) *RevocableCalls {
	return &RevocableCalls{checkClaims: checkClaims, calls: make(map[*revocableCall]struct{})}
}

// CancelRevoked checks all calls again and cancels those that must stop. It
// does not wait for them to end.
func (s *RevocableCalls) CancelRevoked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if err := s.checkClaims(c.claims); err != nil {
			c.end(err)
		}
	}
}

// track adds a call. The caller must call untrack when the call ends. If the
// token is revoked, ctx ends and its cause is the error of checkClaims.
func (s *RevocableCalls) track(r *http.Request, c identity.Claims) (ctx context.Context, untrack func()) {
	if s == nil {
		return r.Context(), func() {}
	}
	ctx, end := context.WithCancelCause(r.Context())
	call := &revocableCall{c, end}
	s.mu.Lock()
	s.calls[call] = struct{}{}
	s.mu.Unlock()
	if err := s.checkClaims(c); err != nil { // revoked between authentication and track
		end(err)
	}
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, call)
		s.mu.Unlock()
		end(nil)
	}
}

// revocationOf returns the error that cancelled a tracked call, or nil if the
// call was not cancelled by RevocableCalls.
func revocationOf(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return cause
	}
	return nil
}
