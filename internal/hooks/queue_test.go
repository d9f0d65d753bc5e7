package hooks

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/eventq"
)

// queue is a durable queue in memory, and remembers how tries failed. It rings
// when there is something to do.
type queue struct {
	bell eventq.Bell

	mu     sync.Mutex
	tasks  []*eventq.Task
	failed map[string][]eventq.Failed // by key
}

func (q *queue) Enqueue(_ context.Context, tasks []eventq.New) ([]eventq.Accepted, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	accepted := make([]eventq.Accepted, len(tasks))
	for i, n := range tasks {
		if err := n.Check(); err != nil {
			return nil, err
		}
		if q.find(func(t *eventq.Task) bool { return t.Topic == n.Topic && t.Key == n.Key }) != nil {
			continue
		}
		t := n.Task(time.Now().UnixMilli())
		t.ID, t.CreatedAt = fmt.Sprint(len(q.tasks)), time.Now().UnixMilli()
		q.tasks, accepted[i].New = append(q.tasks, &t), true
		q.bell.Ring(t.Topic)
	}
	return accepted, nil
}

func (q *queue) find(is func(*eventq.Task) bool) *eventq.Task {
	for _, t := range q.tasks {
		if is(t) {
			return t
		}
	}
	return nil
}

func (q *queue) Claim(_ context.Context, kind string, n int, _ time.Duration) (claimed []eventq.Task, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now().UnixMilli()
	for _, t := range q.tasks {
		due := t.State == eventq.Waiting || t.State == eventq.Later && t.DueAt <= now
		if due && eventq.Kind(t.Topic) == kind && len(claimed) < n {
			t.State, t.Fence = eventq.Claimed, t.Fence+1
			claimed = append(claimed, *t)
		}
	}
	return claimed, nil
}

func (q *queue) Renew(context.Context, []eventq.Lease, time.Duration) ([]eventq.Lease, error) {
	return nil, nil
}

func (q *queue) Complete(_ context.Context, leases []eventq.Lease) ([]eventq.Lease, error) {
	q.each(leases, func(t *eventq.Task) { t.Finish(t.Payload) })
	return nil, nil
}

func (q *queue) Return(_ context.Context, leases []eventq.Lease) ([]eventq.Lease, error) {
	q.each(leases, (*eventq.Task).Return)
	return nil, nil
}

func (q *queue) Fail(_ context.Context, failed []eventq.Failed) ([]eventq.Lease, error) {
	now := time.Now().UnixMilli()
	for _, f := range failed {
		q.each([]eventq.Lease{f.Lease}, func(t *eventq.Task) {
			q.failed[t.Key] = append(q.failed[t.Key], f)
			_ = t.End(now, &f)
			time.AfterFunc(f.Wait, func() { q.bell.Ring(t.Topic) })
		})
	}
	return nil, nil
}

func (q *queue) each(leases []eventq.Lease, do func(*eventq.Task)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, lease := range leases {
		do(q.find(func(t *eventq.Task) bool { return t.Lease() == lease }))
	}
}

// deliver enqueues messages to an endpoint, with ids and bodies of these keys.
func (q *queue) deliver(t *testing.T, endpoint string, keys ...string) {
	t.Helper()
	var tasks []eventq.New
	for _, key := range keys {
		tasks = append(tasks, newReceiver(Endpoint{Game: game, Name: endpoint}).delivery(Message{key, []byte(`"` + key + `"`)}))
	}
	if _, err := q.Enqueue(t.Context(), tasks); err != nil {
		t.Fatal(err)
	}
}

// task gives the first, second, … task, once nothing more happens now.
func (q *queue) task(i int) eventq.Task {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return *q.tasks[i]
}

// count is how many tasks are in a state, once nothing more happens now.
func (q *queue) count(state eventq.State) (n int) {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.tasks {
		if t.State == state {
			n++
		}
	}
	return n
}

// failures are those of a task.
func (q *queue) failures(key string) []eventq.Failed {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed[key]
}

// last is how the last try of a task failed.
func (q *queue) last(t *testing.T, key string) eventq.Failed {
	t.Helper()
	all := q.failures(key)
	if len(all) == 0 {
		t.Fatalf("no try of %s has failed", key)
	}
	return all[len(all)-1]
}
