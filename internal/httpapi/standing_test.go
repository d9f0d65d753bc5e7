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

// waits is a queue in which nothing is found until its caller has gone.
type waits struct {
	*world
	begun chan struct{}
}

func (w *waits) Claim(ctx context.Context, _ string, _ taskqueue.Poll) ([]taskqueue.Task, error) {
	w.begun <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A poll ends when its service is barred, with the refusal; others go on. One
// that came just before that ends as well, and so does the next.
func TestPollsEndWithTheirService(t *testing.T) {
	t.Parallel()
	var barred atomic.Bool
	standing := NewStanding(func(c identity.Claims) error {
		if barred.Load() && c.Role == identity.RoleService {
			return identity.ErrTokenRevoked
		}
		return nil
	})
	c := configOf(&world{})
	queue := &waits{&world{}, make(chan struct{}, 1)}
	c.Tasks, c.Standing = queue, standing
	h := New(c)
	ended := make(chan int)
	poll := func() { ended <- answerTo(t, h, ask("/claim", `{"kind":"mail","wait_ms":20000}`)).Code }
	go poll()
	<-queue.begun
	standing.Recheck()
	select {
	case status := <-ended:
		t.Fatalf("it was ended with %d for nothing", status)
	default:
	}
	barred.Store(true)
	standing.Recheck()
	if status := <-ended; status != http.StatusUnauthorized {
		t.Errorf("it ended with %d", status)
	}
	go poll()
	<-queue.begun // with a context that has ended
	if status := <-ended; status != http.StatusUnauthorized {
		t.Errorf("the next ended with %d", status)
	}
	if len(standing.calls) != 0 {
		t.Errorf("%d calls are remembered", len(standing.calls))
	}
}

// Who goes away, or has no time left, was refused by nobody.
func TestPollsThatEndByThemselves(t *testing.T) {
	t.Parallel()
	s := NewStanding(func(identity.Claims) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	inner, leave := s.enter(get("/").request(t).WithContext(ctx), identity.Claims{})
	cancel()
	if err := refusal(inner); err != nil || !errors.Is(inner.Err(), context.Canceled) {
		t.Errorf("%v, %v", err, inner.Err())
	}
	leave()
	if inner, leave = (*Standing)(nil).enter(get("/").request(t), identity.Claims{}); inner.Err() != nil || refusal(inner) != nil {
		t.Error("without one it has ended")
	}
	leave()
}
