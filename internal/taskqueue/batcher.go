package taskqueue

import (
	"context"
	"sync"
	"time"
)

// Enqueuer stores new tasks in one commit: all or none. The result has one
// element per task, in the same order.
type Enqueuer interface {
	Enqueue(ctx context.Context, tasks []NewTask) ([]Accepted, error)
}

// Batcher stores tasks of concurrent callers in shared commits. While one
// commit runs, the tasks of later calls wait for the next one. It is safe for
// concurrent use.
type Batcher struct {
	store      Enqueuer
	slots      chan struct{} // has one value per task whose commit has not ended
	commitLock chan struct{} // has a value while a commit runs

	mu        sync.Mutex
	openBatch *batch // the batch that still accepts tasks; nil: none
}

// batch has the tasks of one commit and its outcome.
type batch struct {
	tasks    []NewTask
	done     chan struct{} // closed after accepted and err are set
	accepted []Accepted
	err      error
}

// maxPendingTasks limits the tasks in a Batcher to those of one commit and the
// next. Without a limit, tasks would use more and more memory while the store
// hangs, although their callers have given up.
const maxPendingTasks = 2 * MaxBatch

// NewBatcher returns a Batcher for a store.
func NewBatcher(store Enqueuer) *Batcher {
	return &Batcher{store: store, slots: make(chan struct{}, maxPendingTasks), commitLock: make(chan struct{}, 1)}
}

// Enqueue stores a task. When it returns without error, the task is on disk. It
// waits while the Batcher is full. After an error the task may still have been
// stored; the caller should enqueue it again, which is safe because of its key.
func (b *Batcher) Enqueue(ctx context.Context, task NewTask) (Accepted, error) {
	if err := task.Check(); err != nil { // a bad task would make the whole commit fail
		return Accepted{}, err
	}
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
	current, index, isFirst := b.addToBatch(task)
	if isFirst {
		go b.commitBatch(current) // ends after one call of the store, at most callTimeout long
	}
	select {
	case <-current.done:
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
	if current.err != nil {
		return Accepted{}, current.err
	}
	return current.accepted[index], nil
}

// addToBatch adds a task to the open batch, or to a new one. It returns the batch,
// and the position of the task in it. isFirst is true for the first task of a
// batch; its caller must commit the batch.
func (b *Batcher) addToBatch(task NewTask) (current *batch, index int, isFirst bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.openBatch == nil {
		b.openBatch, isFirst = &batch{done: make(chan struct{})}, true
	}
	current, index = b.openBatch, len(b.openBatch.tasks)
	if current.tasks = append(current.tasks, task); len(current.tasks) == MaxBatch {
		b.openBatch = nil
	}
	return current, index, isFirst
}

// commitBatch waits until the previous commit has ended. It then closes the batch
// for further tasks and stores it.
func (b *Batcher) commitBatch(current *batch) {
	b.commitLock <- struct{}{}
	defer func() { <-b.commitLock }()
	b.mu.Lock()
	if b.openBatch == current {
		b.openBatch = nil
	}
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	current.accepted, current.err = b.store.Enqueue(ctx, current.tasks)
	close(current.done)
	for range current.tasks {
		<-b.slots
	}
}

// callTimeout is the time limit of one call of the store. A call may hang when
// the network connection is lost.
const callTimeout = 10 * time.Second
