package timer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// ErrBatcherClosed is the error of calls that a closed Batcher refuses.
var ErrBatcherClosed = errors.New("the batcher is closed")

// A Batcher does the work of concurrent callers together. An item that finds a free
// worker is done at once. While all workers are busy, items wait, and the next free
// worker does all waiting items in one call of Run. Set the upper fields before the first
// call. It is safe for concurrent use.
type Batcher[T any] struct {
	// Run does the work of a batch. It may store results in the items, if T is a pointer.
	Run      func(ctx context.Context, batch []T) error
	MaxBatch int           // items of a call of Run
	Workers  int           // calls of Run at the same time
	Timeout  time.Duration // of a call of Run
	// CanSplit reports whether Run may succeed for some items of a batch after this error.
	// Run is then called again for each item alone. nil: never.
	CanSplit func(error) bool

	mu       sync.Mutex
	isClosed bool
	busy     int // workers that run
	waiting  []*batchItem[T]
	running  sync.WaitGroup // the busy workers
}

type batchItem[T any] struct {
	value   T
	outcome chan error // has a buffer for one, because the caller may have left
}

// Do does the work of an item and returns its error. When ctx ends, Do returns at once; the
// work may then be done or not, and the caller must no longer use the item. The number of
// waiting items is at most the number of callers.
func (b *Batcher[T]) Do(ctx context.Context, value T) error {
	item := &batchItem[T]{value, make(chan error, 1)}
	if err := b.add(item); err != nil {
		return err
	}
	select {
	case err := <-item.outcome:
		return err
	case <-ctx.Done():
		b.remove(item)
		return ctx.Err()
	}
}

// add appends an item to those that wait. It starts a worker if one is free.
func (b *Batcher[T]) add(item *batchItem[T]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isClosed {
		return ErrBatcherClosed
	}
	b.waiting = append(b.waiting, item)
	if b.busy < b.Workers {
		b.busy++
		b.running.Go(b.work) // ends when no item waits; Close waits for it
	}
	return nil
}

// Waiting returns the number of waiting items.
func (b *Batcher[T]) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// remove removes an item that still waits.
func (b *Batcher[T]) remove(item *batchItem[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, item); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
}

// work runs batches until no item waits.
func (b *Batcher[T]) work() {
	for batch := b.nextBatch(); batch != nil; batch = b.nextBatch() {
		err := b.run(batch)
		canSplit := err != nil && len(batch) > 1 && b.CanSplit != nil && b.CanSplit(err)
		for i, item := range batch {
			if canSplit {
				err = b.run(batch[i : i+1])
			}
			item.outcome <- err
		}
	}
}

// nextBatch removes the next batch from the waiting items. If none waits, it frees the
// worker and returns nil.
func (b *Batcher[T]) nextBatch() []*batchItem[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.waiting = nil
		b.busy--
		return nil
	}
	size := min(len(b.waiting), b.MaxBatch)
	batch := slices.Clone(b.waiting[:size])
	b.waiting = slices.Delete(b.waiting, 0, size)
	return batch
}

// run calls Run. It turns a panic into an error, so that it affects only this batch.
func (b *Batcher[T]) run(batch []*batchItem[T]) (err error) {
	values := make([]T, len(batch))
	for i, item := range batch {
		values[i] = item.value
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.Timeout)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v: %s", fault, debug.Stack()) // with the stack, because recover discards it
		}
	}()
	return b.Run(ctx, values)
}

// Close refuses waiting and later items, and waits for the running calls of Run.
func (b *Batcher[T]) Close() {
	b.mu.Lock()
	b.isClosed = true
	for _, item := range b.waiting {
		item.outcome <- ErrBatcherClosed
	}
	b.waiting = nil
	b.mu.Unlock()
	b.running.Wait()
}
