package taskqueue

import (
	"context"
	"sync"
	"time"
)

// Enqueuer takes tasks, all in one commit.
type Enqueuer interface {
	Enqueue(ctx context.Context, tasks []NewTask) ([]Accepted, error)
}

// Intake groups what is enqueued concurrently: while one commit is under way,
// the tasks for the next one gather, so that each costs a part of a commit.
type Batcher struct {
	store      Enqueuer
	slots      chan struct{} // taken by each task until its commit has ended
	commitLock chan struct{} // held by the commit under way

	mu   sync.Mutex
	next *batch // that still takes tasks, if there is one
}

// group is the tasks of one commit.
type batch struct {
	tasks    []NewTask
	done     chan struct{} // closed once the rest is set
	accepted []Accepted
	err      error
}

// mostTaken bounds the tasks of an intake: as many as one commit and the next
// have. Those for whom nobody waits any more would else pile up at a store that
// hangs.
const maxPending = 2 * MaxBatch

// NewIntake gives an intake into a store.
func NewBatcher(store Enqueuer) *Batcher {
	return &Batcher{store: store, slots: make(chan struct{}, maxPending), commitLock: make(chan struct{}, 1)}
}

// Enqueue takes a task, which is on disk once it returns, as Enqueuer does. It
// waits while the intake is full. After an error, of the context too, the task may
// have been taken: enqueue it again.
func (in *Batcher) Enqueue(ctx context.Context, task NewTask) (Accepted, error) {
	if err := task.Check(); err != nil { // it would spoil the others' commit
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

// join puts a task into the next group.
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

// commit waits for the group's turn, closes it and hands it to the store.
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

// callTimeout bounds a call of the store, which hangs where it is cut off.
const callTimeout = 10 * time.Second
