package httpapi

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/taskqueue"
)

// revokedQueue revokes the token of the caller while it waits for a task.
type revokedQueue struct {
	*fakeBackend
	revoke   func()
	released []taskqueue.Lease
}

func (q *revokedQueue) Claim(context.Context, string, taskqueue.Poll) ([]taskqueue.Task, error) {
	q.revoke()
	return []taskqueue.Task{{ID: "1", Fence: 2, Topic: "mail/a"}}, nil
}

func (q *revokedQueue) Fail(_ context.Context, _ string, failed []taskqueue.FailedAttempt) ([]taskqueue.Lease, error) {
	for _, attempt := range failed {
		if attempt.Postponed && !attempt.Final && attempt.Wait == 0 {
			q.released = append(q.released, attempt.Lease)
		}
	}
	return nil, nil
}

// A service that is revoked while it waits gets no task. The tasks that it would have got are due
// again for others.
func TestARevokedServiceGetsNoTask(t *testing.T) {
	t.Parallel()
	var isRevoked atomic.Bool
	queue := &revokedQueue{fakeBackend: &fakeBackend{}, revoke: func() { isRevoked.Store(true) }}
	c := newTestConfig(queue.fakeBackend)
	c.Tasks = queue
	c.CheckClaims = func(claims identity.Claims) error {
		if isRevoked.Load() && claims.Role == identity.RoleService {
			return identity.ErrTokenRevoked
		}
		return nil
	}
	rec := serve(t, New(c), taskCall("/claim", `{"kind":"mail","wait_ms":20000}`))
	if rec.Code != http.StatusUnauthorized || !slices.Equal(queue.released, []taskqueue.Lease{{ID: "1", Fence: 2}}) {
		t.Errorf("%d %s, released %v", rec.Code, rec.Body, queue.released)
	}
}
