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

	mu   sync.Mutex
	next *batch // the batch that still accepts tasks; nil: none
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
const maxPending = 2 * MaxBatch

// NewBatcher returns a Batcher for a store.
func NewBatcher(store Enqueuer) *Batcher {
	return &Batcher{store: store, slots: make(chan struct{}, maxPending), commitLock: make(chan struct{}, 1)}
}

// Enqueue stores a task. When it returns without error, the task is on disk. It
// waits while the Batcher is full. After an error the task may still have been
// stored; the caller should enqueue it again, which is safe because of its key.
func (in *Batcher) Enqueue(ctx context.Context, task NewTask) (Accepted, error) {
	if err := task.Check(); err != nil { // a bad task would make the whole commit fail
		return Accepted{}, err
	}
	select {
	case in.slots <- struct{}{}:
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
	g, index, isFirst := in.join(task)
	if isFirst {
		go in.commit(g) // ends after one call of the store, at most callTimeout long
	}
	select {
	case <-g.done:
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
	if g.err != nil {
		return Accepted{}, g.err
	}
	return g.accepted[index], nil
}

// join adds a task to the open batch, or to a new one. It returns the batch,
// and the position of the task in it. isFirst is true for the first task of a
// batch; its caller must commit the batch.
func (in *Batcher) join(task NewTask) (g *batch, index int, isFirst bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.next == nil {
		in.next, isFirst = &batch{done: make(chan struct{})}, true
	}
	g, index = in.next, len(in.next.tasks)
	if g.tasks = append(g.tasks, task); len(g.tasks) == MaxBatch {
		in.next = nil
	}
	return g, index, isFirst
}

// commit waits until the previous commit has ended. It then closes the batch
// for further tasks and stores it.
func (in *Batcher) commit(g *batch) {
	in.commitLock <- struct{}{}
	defer func() { <-in.commitLock }()
	in.mu.Lock()
	if in.next == g {
		in.next = nil
	}
	in.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	g.accepted, g.err = in.store.Enqueue(ctx, g.tasks)
	close(g.done)
	for range g.tasks {
		<-in.slots
	}
}

// callTimeout is the time limit of one call of the store. A call may hang when
// the network connection is lost.
const callTimeout = 10 * time.Second
