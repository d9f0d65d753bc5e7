package leaderboard

import (
	"context"
	"sync/atomic"
)

// singleflight runs one job at a time and shares successful results. A caller does not run
// a job if a job that started after its call has succeeded. So many concurrent callers
// cause only two jobs. Each job runs with its own caller's context.
type singleflight struct {
	requestCount atomic.Int64 // number of calls so far; each call gets the next number
	lastCovered  chan int64   // holds the last call number before the start of a successful job; empty while a job runs
}

func newSingleflight() *singleflight {
	calls := &singleflight{lastCovered: make(chan int64, 1)}
	calls.lastCovered <- 0
	return calls
}

// do returns nil once a job that started after the call has succeeded. Otherwise it
// returns the error of the caller's own job, or of ctx if that ends while do waits.
func (s *singleflight) do(ctx context.Context, job func() error) error {
	request := s.requestCount.Add(1)
	var covered int64
	select {
	case covered = <-s.lastCovered:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.lastCovered <- covered }()
	if covered >= request {
		return nil
	}
	lastRequest := s.requestCount.Load()
	err := job()
	if err == nil {
		covered = lastRequest
	}
	return err
}

// ctxLock is a mutex whose lock method stops waiting when a context ends.
type ctxLock chan struct{}

func newCtxLock() ctxLock { return make(ctxLock, 1) }

// lock waits until the lock is free or ctx ends. On success the caller must call unlock.
func (l ctxLock) lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l ctxLock) unlock() { <-l }
