package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/taskqueue"
)

// blockingQueue finds no task until its caller gives up.
type blockingQueue struct {
	*fakeBackend
	started chan struct{}
}

func (q *blockingQueue) Claim(ctx context.Context, _ string, _ taskqueue.Poll) ([]taskqueue.Task, error) {
	q.started <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A poll ends with the refusal when its service is revoked; other polls
// continue. A poll whose token was accepted before the revocation, but which
// starts after it, ends too.
func TestPollsEndWhenTheServiceIsRevoked(t *testing.T) {
	t.Parallel()
	var revoked atomic.Bool
	calls := NewRevocableCalls(func(c identity.Claims) error {
		if revoked.Load() && c.Role == identity.RoleService {
			return identity.ErrTokenRevoked
		}
		return nil
	})
	c := newTestConfig(&fakeBackend{})
	queue := &blockingQueue{&fakeBackend{}, make(chan struct{}, 1)}
	c.Tasks, c.RevocableCalls = queue, calls
	h := New(c)
	ended := make(chan int)
	poll := func() { ended <- serve(t, h, taskCall("/claim", `{"kind":"mail","wait_ms":20000}`)).Code }
	go poll()
	<-queue.started
	calls.CancelRevoked()
	select {
	case status := <-ended:
		t.Fatalf("the poll ended with %d without a revocation", status)
	default:
	}
	revoked.Store(true)
	calls.CancelRevoked()
	if status := <-ended; status != http.StatusUnauthorized {
		t.Errorf("the poll ended with %d, want 401", status)
	}
	go poll()
	if status := <-ended; status != http.StatusUnauthorized {
		t.Errorf("the next poll ended with %d, want 401", status)
	}
	calls.calls.Range(func(call, _ any) bool {
		t.Errorf("the ended call %+v is still tracked", call)
		return true
	})
}

// A poll that ends because the client disconnects or because of a time limit is not revoked.
func TestPollsThatEndByThemselvesAreNotRevoked(t *testing.T) {
	t.Parallel()
	calls := NewRevocableCalls(func(identity.Claims) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	err := calls.run(ctx, identity.Claims{}, func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
