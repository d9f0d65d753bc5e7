package settle

import (
	"context"
	"sync"
	"time"

	"laststand/internal/loop"
	"laststand/internal/match"
)

// Offer passes a pending result to the service. It never blocks. It returns false
// if the queue is full or the service has stopped, which is counted. It also
// returns false if the result has no standings. In these cases a sweep, at this
// node or another, settles the result later.
func (s *Service) Offer(result match.Result) bool {
	if !result.IsComplete() {
		return false
	}
	select {
	case <-s.stopped:
		s.metrics.countFailures(reasonStopped, 1)
		return false
	default:
	}
	select {
	case s.queue <- result:
		return true
	default:
		s.metrics.countFailures(reasonQueueFull, 1)
		return false
	}
}

// Run settles offered results and those that sweeps find, until the context ends.
// Then it settles the results already offered, for at most stopTimeout. The rest
// stays pending. It returns nil once everything that it started has ended.
func (s *Service) Run(ctx context.Context) error {
	workCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var stopTimer sync.WaitGroup
	stopTimer.Go(func() {
		select {
		case <-ctx.Done():
			loop.Sleep(workCtx, stopTimeout)
			cancel()
		case <-workCtx.Done():
		}
	})
	s.runLoop(ctx, workCtx)
	close(s.stopped)
	s.notifier.close()
	cancel()
	stopTimer.Wait()
	return nil
}

// runLoop handles offered results, requests of operators and sweeps, one at a time.
// It starts with a sweep, for the results that a former process left.
func (s *Service) runLoop(ctx, workCtx context.Context) {
	sweeps := time.NewTicker(sweepInterval)
	defer sweeps.Stop()
	nextPage := make(chan struct{}, 1) // has a value while a sweep left results
	loop.Wake(nextPage)
	for ctx.Err() == nil {
		mustSweep := false
		select {
		case <-ctx.Done():
		case result := <-s.queue:
			s.settleBatch(workCtx, s.collectBatch(ctx, result), false)
		case request := <-s.retryRequests:
			request.done <- s.commitDeadLetter(workCtx, request.result)
		case <-sweeps.C:
			mustSweep = true
		case <-nextPage:
			mustSweep = true
		}
		if mustSweep && s.sweepPending(workCtx) {
			loop.Wake(nextPage)
		}
	}
	for len(s.queue) > 0 && workCtx.Err() == nil {
		s.settleBatch(workCtx, s.collectBatch(workCtx, <-s.queue), false)
	}
	if n := len(s.queue); n > 0 {
		s.metrics.countFailures(reasonStopped, n)
		s.Logger.Warn("settlement stopped with unsettled results; results stay pending", "results", n)
	}
}
