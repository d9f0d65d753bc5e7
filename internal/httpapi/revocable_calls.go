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
	calls       sync.Map // from *revocableCall to nothing
}

type revocableCall struct {
	claims identity.Claims
	cancel context.CancelCauseFunc
}

// NewRevocableCalls returns an empty set of calls. checkClaims returns an error
// if a token with these claims is no longer valid. It must not call a store.
func NewRevocableCalls(checkClaims func(identity.Claims) error) *RevocableCalls {
	return &RevocableCalls{checkClaims: checkClaims}
}

// CancelRevoked checks the claims of all calls again and cancels the calls with
// an error. It does not wait until they have ended.
func (s *RevocableCalls) CancelRevoked() {
	s.calls.Range(func(call, _ any) bool {
		s.cancelIfRevoked(call.(*revocableCall))
		return true
	})
}

func (s *RevocableCalls) cancelIfRevoked(call *revocableCall) {
	if err := s.checkClaims(call.claims); err != nil {
		call.cancel(err)
	}
}

// track adds the call of a request. The caller must call untrack when the call
// ends. If the token is revoked, the returned ctx ends, and its cause is the error
// of checkClaims.
func (s *RevocableCalls) track(r *http.Request, claims identity.Claims) (ctx context.Context, untrack func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	call := &revocableCall{claims, cancel}
	s.calls.Store(call, nil)
	s.cancelIfRevoked(call) // revoked between authentication and track
	return ctx, func() {
		s.calls.Delete(call)
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
