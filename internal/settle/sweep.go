package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
)

var errIncomplete = errors.New("its standings are gone from Redis or cannot be read; see the log of the nodes")

// sweepPending settles some pending results, and reports whether it may have left more
// that can be settled now. It leaves out results of matches that ended less than
// SweepInterval ago; the node that ended the match settles those.
func (s *Service) sweepPending(workCtx context.Context) (hasMore bool) {
	s.forgetUnseen()
	limit := s.BatchSize + len(s.refusedResults) // so that refused results do not hide others
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	page, err := s.Pending.ReadResults(ctx, limit)
	if err != nil && workCtx.Err() == nil { // the results that could be read are still settled
		s.metrics.countFailures(reasonPending, 1)
		s.Logger.Warn("pending results read failed; the next sweep retries", "error", err)
	}
	due := slices.DeleteFunc(slices.Clone(page), func(result match.Result) bool { return !s.isDue(result) })
	progress := false
	for _, result := range due {
		if !result.IsComplete() { // its standings are gone or unreadable: retry, and a dead letter in the end
			progress = s.recordRefusal(workCtx, result, errIncomplete) || progress
		}
	}
	due = slices.DeleteFunc(due, func(result match.Result) bool { return !result.IsComplete() })
	for _, batch := range s.splitBySize(due) {
		progress = s.settleBatch(workCtx, batch, true) || progress
	}
	return progress && len(page) >= limit
}

func (s *Service) isDue(result match.Result) bool {
	if result.OverAt > s.Now()-s.SweepInterval.Milliseconds() {
		return false
	}
	return !time.Now().Before(s.refusedResults[newMatchKey(result)].retryAt)
}
