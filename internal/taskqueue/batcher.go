package taskqueue

import (
	"context"
	"sync"
	"time"
)

// Enqueuer accepts tasks in one commit.
type Enqueuer interface {
	Enqueue(ctx context.Context, tasks []NewTask) ([]Accepted, error)
}

// Batcher groups tasks that are enqueued at the same time. While one commit is
// under way, tasks gather for the next one.
type Batcher struct {
	store      Enqueuer
	slots      chan struct{} // each task holds one until its commit has ended
	commitLock chan struct{} // held by the commit under way

	mu   sync.Mutex
	next *batch // the batch that still accepts tasks, or nil
}

// batch has the tasks of one commit.
type batch struct {
	tasks    []NewTask
	done     chan struct{} // closed after accepted and err are set
	accepted []Accepted
	err      error
}

// maxPending bounds the tasks of a Batcher: one commit and the next. Without it
// tasks would pile up when the store hangs and their callers have left.
const maxPending = 2 * MaxBatch

// NewBatcher returns a Batcher for a store.
func NewBatcher(store Enqueuer) *Batcher {
	return &Batcher{store: store, slots: make(chan struct{}, maxPending), commitLock: make(chan struct{}, 1)}
}

// Enqueue accepts a task, which is on disk when it returns. It waits while the
// Batcher is full. After an error the task may still have been accepted:
// enqueue it again.
func (in *Batcher) Enqueue(ctx context.Context, task NewTask) (Accepted, error) {
	if err := task.Check(); err != nil { // a bad task would fail the commit of the others
		return Accepted{}, err
	}
	select {
	case in.slots <- struct{}{}:
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
	g, index, isFirst := in.join(task)
	if isFirst {
		go in.commit(g) // ends with its call of the store
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

// join adds a task to the next batch.
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

// commit waits until the commit before has ended, closes the batch and stores
// it.
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

// callTimeout bounds a call of the store, which may hang when the network is
// cut.
const callTimeout = 10 * time.Second
