package webhook

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// queue is a durable queue in memory that records failed attempts. It notifies
// workers of new tasks.
type queue struct {
	notifier *taskqueue.Notifier

	mu     sync.Mutex
	tasks  []*taskqueue.Task
	failed map[string][]taskqueue.FailedAttempt // by key
}

func (q *queue) Enqueue(_ context.Context, tasks []taskqueue.NewTask) ([]taskqueue.Accepted, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	accepted := make([]taskqueue.Accepted, len(tasks))
	for i, newTask := range tasks {
		if err := newTask.Check(); err != nil {
			return nil, err
		}
		if q.find(func(task *taskqueue.Task) bool { return task.Topic == newTask.Topic && task.Key == newTask.Key }) != nil {
			continue
		}
		task := newTask.Task(time.Now().UnixMilli())
		task.ID, task.CreatedAt = fmt.Sprint(len(q.tasks)), time.Now().UnixMilli()
		q.tasks, accepted[i].New = append(q.tasks, &task), true
		q.notifier.Notify(task.Topic)
	}
	return accepted, nil
}

func (q *queue) find(matches func(*taskqueue.Task) bool) *taskqueue.Task {
	for _, t := range q.tasks {
		if matches(t) {
			return t
		}
	}
	return nil
}

func (q *queue) Claim(_ context.Context, kind string, limit int, _ time.Duration) (claimed []taskqueue.Task, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now().UnixMilli()
	for _, task := range q.tasks {
		isDue := task.State == taskqueue.StateWaiting || task.State == taskqueue.StateLater && task.DueAt <= now
		if isDue && taskqueue.Kind(task.Topic) == kind && len(claimed) < limit {
			task.State, task.Fence = taskqueue.StateClaimed, task.Fence+1
			claimed = append(claimed, *task)
		}
	}
	return claimed, nil
}

func (q *queue) Renew(context.Context, []taskqueue.Lease, time.Duration) ([]taskqueue.Lease, error) {
	return nil, nil
}

func (q *queue) Complete(_ context.Context, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	q.changeLeased(leases, func(t *taskqueue.Task) { t.Finish(t.Payload) })
	return nil, nil
}

func (q *queue) Fail(_ context.Context, failed []taskqueue.FailedAttempt) ([]taskqueue.Lease, error) {
	now := time.Now().UnixMilli()
	for _, attempt := range failed {
		q.changeLeased([]taskqueue.Lease{attempt.Lease}, func(t *taskqueue.Task) {
			q.failed[t.Key] = append(q.failed[t.Key], attempt)
			t.RecordFailure(now, &attempt)
			time.AfterFunc(time.Until(time.UnixMilli(t.DueAt)), func() { q.notifier.Notify(t.Topic) })
		})
	}
	return nil, nil
}

func (q *queue) changeLeased(leases []taskqueue.Lease, change func(*taskqueue.Task)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, lease := range leases {
		change(q.find(func(t *taskqueue.Task) bool { return t.Lease() == lease }))
	}
}

// enqueueDeliveries enqueues messages for an endpoint. Their ids and bodies are these keys.
func (q *queue) enqueueDeliveries(t *testing.T, endpoint string, keys ...string) {
	t.Helper()
	var tasks []taskqueue.NewTask
	for _, key := range keys {
		tasks = append(tasks, newEndpointState(Endpoint{Game: game, Name: endpoint}).newDelivery(Message{key, []byte(`"` + key + `"`)}))
	}
	testenv.Need(q.Enqueue(t.Context(), tasks))(t)
}

// task returns the i-th task after all goroutines of the test have blocked.
func (q *queue) task(i int) taskqueue.Task {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return *q.tasks[i]
}

// countTasks returns how many tasks are in a state after all goroutines of the test have blocked.
func (q *queue) countTasks(state taskqueue.State) (n int) {
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

// failures returns the failed attempts of a task.
func (q *queue) failures(key string) []taskqueue.FailedAttempt {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed[key]
}

// lastFailure returns the last failed attempt of a task.
func (q *queue) lastFailure(t *testing.T, key string) taskqueue.FailedAttempt {
	t.Helper()
	all := q.failures(key)
	if len(all) == 0 {
		t.Fatalf("no attempt of %s has failed", key)
	}
	return all[len(all)-1]
}
