package leaderboard

import (
	"context"
	"sync/atomic"
)

// singleflight runs one job at a time and shares successful results. A caller does not run
// a job if a job that started after its call has succeeded. So many concurrent callers
// cause only two jobs. Each job runs with its own caller's context.
type singleflight struct {
	requests atomic.Int64 // number of calls so far; each call gets the next number
	covered  chan int64   // holds the last call number before the start of a successful job; empty while a job runs
}

func newSingleflight() *singleflight {
	t := &singleflight{covered: make(chan int64, 1)}
	t.covered <- 0
	return t
}

// do returns nil once a job that started after the call has succeeded. Otherwise it
// returns the error of the caller's own job, or of ctx if that ends while do waits.
func (t *singleflight) do(ctx context.Context, job func() error) error {
	request := t.requests.Add(1)
	var done int64
	select {
	case done = <-t.covered:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { t.covered <- done }()
	if done >= request {
		return nil
	}
	covered := t.requests.Load()
	err := job()
	if err == nil {
		done = covered
	}
	return err
}

// ctxLock is a mutex whose lock method stops waiting when a context ends.
type ctxLock chan struct{}

func newCtxLock() ctxLock { return make(ctxLock, 1) }

// lock waits until the lock is free or ctx ends. On success the caller must call unlock.
func (d ctxLock) lock(ctx context.Context) error {
	select {
	case d <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d ctxLock) unlock() { <-d }
