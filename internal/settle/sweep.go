package settle

import (
	"context"
	"maps"
	"time"

	"laststand/internal/match"
)

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
	var due batch
	hasProgress := false
	for _, result := range page {
		switch {
		case !s.isDue(result):
		case !result.IsComplete(): // its standings are gone or unreadable: retry, and a dead letter in the end
			hasProgress = s.recordRefusal(workCtx, result, errIncomplete) || hasProgress
		default:
			due.add(result)
		}
		if s.isFull(due) {
			hasProgress = s.settleBatch(workCtx, due.results, true) || hasProgress
			due = batch{}
		}
	}
	hasProgress = s.settleBatch(workCtx, due.results, true) || hasProgress
	return hasProgress && len(page) >= limit
}

func (s *Service) isDue(result match.Result) bool {
	isOld := result.OverAt <= s.Now()-sweepInterval.Milliseconds()
	return isOld && !time.Now().Before(s.refusedResults[newMatchKey(result)].retryAt)
}
