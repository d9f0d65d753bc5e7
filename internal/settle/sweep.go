package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
)

var errIncomplete = errors.New("its standings are gone from Redis or cannot be read; see the log of the nodes")

// sweep settles some pending results, and reports whether it may have left more
// that can be settled now. It leaves out results of matches that ended less than
// SweepInterval ago; the node that ended the match settles those.
func (s *Settler) sweep(work context.Context) (more bool) {
	s.dropUnseen()
	limit := s.BatchSize + len(s.refused) // so that refused results do not hide others
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	page, err := s.Pending.Results(ctx, limit)
	if err != nil && work.Err() == nil { // the results that could be read are still settled
		s.metrics.countFailures(reasonPending, 1)
		s.Logger.Warn("pending results read failed; the next sweep retries", "error", err)
	}
	due := slices.DeleteFunc(slices.Clone(page), func(r match.Result) bool { return !s.isDue(r) })
	progress := false
	for _, r := range due {
		if !r.IsComplete() { // its standings are gone or unreadable: retry, and a dead letter in the end
			progress = s.recordRefusal(work, r, errIncomplete) || progress
		}
	}
	due = slices.DeleteFunc(due, func(r match.Result) bool { return !r.IsComplete() })
	for _, batch := range s.splitBySize(due) {
		progress = s.settle(work, batch, true) || progress
	}
	return progress && len(page) >= limit
}

func (s *Settler) isDue(r match.Result) bool {
	if r.OverAt > s.Now()-s.SweepInterval.Milliseconds() {
		return false
	}
	return !time.Now().Before(s.refused[keyOf(r)].retryAt)
}
