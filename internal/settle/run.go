package settle

import (
	"context"
	"maps"
	"time"

	"laststand/internal/match"
	"laststand/internal/timer"
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
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(stopTimeout, cancel) })
	defer stop()
	s.runLoop(ctx, workCtx)
	close(s.stopped)
	s.closeOutboxes()
	return nil
}

// runLoop handles offered results, requests of operators and sweeps, one at a time.
// It starts with a sweep, for the results that a former process left.
func (s *Service) runLoop(ctx, workCtx context.Context) {
	sweeps := time.NewTicker(sweepInterval)
	defer sweeps.Stop()
	nextPage := make(chan struct{}, 1) // has a value while a sweep left results
	timer.Wake(nextPage)
	for ctx.Err() == nil {
		mustSweep := false
		select {
		case <-ctx.Done():
		case result := <-s.queue:
			s.settleBatch(workCtx, s.collectBatch(ctx, result), false)
		case retry := <-s.retries:
			retry(workCtx)
		case <-sweeps.C:
			mustSweep = true
		case <-nextPage:
			mustSweep = true
		}
		if mustSweep && s.sweepPending(workCtx) {
			timer.Wake(nextPage)
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

// sweepPending settles some pending results, and reports whether it may have left more
// that can be settled now. It leaves out results of matches that ended less than
// sweepInterval ago; the node that ended the match settles those.
func (s *Service) sweepPending(workCtx context.Context) (hasMore bool) {
	maps.DeleteFunc(s.refusedResults, func(_ matchKey, refusal refusedResult) bool {
		return time.Since(refusal.retryAt) > forgetAfterSweeps*sweepInterval
	})
	limit := s.BatchSize + len(s.refusedResults) // so that refused results do not hide others
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	page, err := s.Pending.ReadResults(ctx, limit)
	if err != nil && workCtx.Err() == nil { // the results that could be read are still settled
		s.metrics.countFailures(reasonPending, 1)
		s.Logger.Warn("pending results read failed; the next sweep retries", "error", err)
	}
	var due []match.Result
	hasProgress := false
	for _, result := range page {
		switch {
		case !s.isDue(result):
		case result.Undecodable != "": // another program may be able to decode it: retry, and a dead letter in the end
			hasProgress = s.recordRefusal(workCtx, result, errUndecodable) || hasProgress
		case !result.IsComplete(): // its standings are gone or unreadable: retry, and a dead letter in the end
			hasProgress = s.recordRefusal(workCtx, result, errIncomplete) || hasProgress
		default:
			due = append(due, result)
		}
		if s.isFull(due) {
			hasProgress = s.settleBatch(workCtx, due, true) || hasProgress
			due = nil
		}
	}
	hasProgress = s.settleBatch(workCtx, due, true) || hasProgress
	return hasProgress && len(page) >= limit
}

func (s *Service) isDue(result match.Result) bool {
	isOld := result.OverAt <= s.Now()-sweepInterval.Milliseconds()
	return isOld && !time.Now().Before(s.refusedResults[newMatchKey(result)].retryAt)
}
