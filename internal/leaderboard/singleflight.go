package leaderboard

import (
	"context"
	"sync/atomic"
)

// singleflight runs one job at a time and shares its result. A caller returns without a
// job of its own if a job that began after its call has succeeded. So of many concurrent
// callers two run a job, and no caller depends on another caller's context.
type singleflight struct {
	requests atomic.Int64
	covered  chan int64 // holds the last request that a successful job covers; empty while a job runs
}

func newSingleflight() *singleflight {
	t := &singleflight{covered: make(chan int64, 1)}
	t.covered <- 0
	return t
}

// do returns nil once a job that began after the call has succeeded. Otherwise it
// returns the error of the caller's own job, or of ctx if the caller could not run one.
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

// ctxLock is a mutex whose lock method observes a context.
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
