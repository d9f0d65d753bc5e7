package httpapi

import (
	"cmp"
	"context"
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
	cancel context.CancelFunc
}

// NewRevocableCalls returns an empty set of calls. checkClaims returns an error
// if a token with these claims is no longer valid. It must not call a store.
func NewRevocableCalls(checkClaims func(identity.Claims) error) *RevocableCalls {
	return &RevocableCalls{checkClaims: checkClaims}
}

// CancelRevoked checks the claims of all calls again and cancels the calls with
// an error. It does not wait until they have ended.
func (s *RevocableCalls) CancelRevoked() {
	s.calls.Range(func(key, _ any) bool {
		if call := key.(*revocableCall); s.checkClaims(call.claims) != nil {
			call.cancel()
		}
		return true
	})
}

// run runs a call with a context that ends if the token of the claims is revoked. It then
// returns the error of checkClaims, else that of the call.
func (s *RevocableCalls) run(ctx context.Context, claims identity.Claims, run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	call := &revocableCall{claims, cancel}
	s.calls.Store(call, nil)
	defer s.calls.Delete(call)
	if err := s.checkClaims(claims); err != nil { // revoked since the authentication
		return err
	}
	err := run(ctx)
	return cmp.Or(s.checkClaims(claims), err)
}
