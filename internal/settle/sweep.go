package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
)

var errIncomplete = errors.New("its standings are gone from Redis or cannot be read; see the log of the nodes")

// sweep settles some of what is pending, and reports whether it may have left
// more that can be settled now. Results just over are their own node's.
func (s *Settler) sweep(work context.Context) (more bool) {
	s.dropUnseen()
	limit := s.BatchSize + len(s.refused) // so that parked ones hide no others
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	page, err := s.Pending.Results(ctx, limit)
	if err != nil && work.Err() == nil { // what could be read is settled all the same
		s.metrics.countFailures(reasonPending, 1)
		s.Logger.Warn("pending results read failed; the next sweep retries", "error", err)
	}
	due := slices.DeleteFunc(slices.Clone(page), func(r match.Result) bool { return !s.isDue(r) })
	progress := false
	for _, r := range due {
		if !r.IsComplete() { // its standings are gone or unreadable: it is tried again, and dead in the end
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
