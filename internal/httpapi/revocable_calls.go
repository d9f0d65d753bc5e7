package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"laststand/internal/identity"
)

// RevocableCalls cancels long polls when their token is revoked or the signing
// key of the token is retired. It is safe for concurrent use.
type RevocableCalls struct {
	checkClaims func(identity.Claims) error

	mu    sync.Mutex
	calls map[*revocableCall]struct{}
}

type revocableCall struct {
	claims identity.Claims
	cancel context.CancelCauseFunc
}

// NewRevocableCalls returns an empty set of calls. checkClaims returns an error
// if a token with these claims is no longer valid. It must not call a store.
func NewRevocableCalls(checkClaims func(identity.Claims) error) *RevocableCalls {
	return &RevocableCalls{checkClaims: checkClaims, calls: make(map[*revocableCall]struct{})}
}

// CancelRevoked checks the claims of all calls again and cancels the calls with
// an error. It does not wait until they have ended.
func (s *RevocableCalls) CancelRevoked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for call := range s.calls {
		if err := s.checkClaims(call.claims); err != nil {
			call.cancel(err)
		}
	}
}

// track adds the call of a request. The caller must call untrack when the call
// ends. If the token is revoked, the returned ctx ends, and its cause is the error
// of checkClaims.
func (s *RevocableCalls) track(r *http.Request, claims identity.Claims) (ctx context.Context, untrack func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	call := &revocableCall{claims, cancel}
	s.mu.Lock()
	s.calls[call] = struct{}{}
	s.mu.Unlock()
	if err := s.checkClaims(claims); err != nil { // revoked between authentication and track
		cancel(err)
	}
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, call)
		s.mu.Unlock()
		cancel(nil)
	}
}

// revocationError returns the error with which RevocableCalls has cancelled a
// call, or nil if it has not. ctx is the context that track has returned.
func revocationError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return cause
	}
	return nil
}
