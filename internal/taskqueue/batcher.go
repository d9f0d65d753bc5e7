package taskqueue

import (
	"context"
	"time"

	"laststand/internal/timer"
)

// Enqueuer stores new tasks in one commit: all or none. The result has one
// element per task, in the same order.
type Enqueuer interface {
	Enqueue(ctx context.Context, tasks []NewTask) ([]Accepted, error)
}

// Batcher stores tasks of concurrent callers in shared commits. While one
// commit runs, the tasks of later calls wait for the next one. It is safe for
// concurrent use.
type Batcher struct{ commits *timer.Batcher[*enqueueCall] }

// enqueueCall is one call of Batcher.Enqueue.
type enqueueCall struct {
	task     NewTask
	accepted Accepted
}

// NewBatcher returns a Batcher for a store.
func NewBatcher(store Enqueuer) *Batcher {
	return &Batcher{&timer.Batcher[*enqueueCall]{
		MaxBatch: MaxBatch, Workers: 1, Timeout: callTimeout,
		Run: func(ctx context.Context, calls []*enqueueCall) error {
			tasks := make([]NewTask, len(calls))
			for i, call := range calls {
				tasks[i] = call.task
			}
			accepted, err := store.Enqueue(ctx, tasks)
			for i := range accepted {
				calls[i].accepted = accepted[i]
			}
			return err
		},
	}}
}

// Enqueue stores a task. When it returns without error, the task is on disk.
// After an error the task may still have been stored; the caller should enqueue
// it again, which is safe because of its key.
func (b *Batcher) Enqueue(ctx context.Context, task NewTask) (Accepted, error) {
	if err := task.Check(); err != nil { // a bad task would make the whole commit fail
		return Accepted{}, err
	}
	call := &enqueueCall{task: task}
	if err := b.commits.Do(ctx, call); err != nil {
		return Accepted{}, err
	}
	return call.accepted, nil
}

// callTimeout is the time limit of one call of the store. A call may hang when
// the network connection is lost.
const callTimeout = 10 * time.Second
