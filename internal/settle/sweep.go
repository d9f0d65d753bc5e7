package settle

import (
	"context"
	"slices"
	"time"

	"laststand/internal/match"
)

const (
	maxTries  = 10        // then a refused result is tried ever more rarely
	maxParked = time.Hour // between two tries
)

// parked is a result that the ledger refused for its own fault. It stays
// pending, so nothing is lost.
type parked struct {
	tries int
	until time.Time
}

// sweep settles some of what is pending, and reports whether it may have left
// more that can be settled now. Results just over are their own node's.
func (s *Settler) sweep(work context.Context) (more bool) {
	limit := s.Batch + len(s.parked) // so that parked ones hide no others
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	page, err := s.Pending.Results(ctx, limit)
	if err != nil && work.Err() == nil { // what could be read is settled all the same
		s.metrics.failed(reasonPending, 1)
		s.Logger.Warn("some pending results cannot be read; the next sweep tries again", "error", err)
	}
	due := slices.DeleteFunc(slices.Clone(page), func(r match.Result) bool { return !s.due(r) })
	progress := false
	for _, batch := range s.batches(due) {
		progress = s.settle(work, batch, true) || progress
	}
	return progress && len(page) >= limit
}

func (s *Settler) due(r match.Result) bool {
	if r.OverAt > s.Now()-s.Sweep.Milliseconds() {
		return false
	}
	return !time.Now().Before(s.parked[keyOf(r)].until)
}

// park puts a refused result aside: until the next sweep, and after maxTries
// for twice as long each time. Beyond the queue's length parked ones are not
// kept in mind, and so are tried with every sweep.
func (s *Settler) park(r match.Result, err error) {
	s.metrics.failed(reasonRefused, 1)
	p := s.parked[keyOf(r)]
	p.tries++
	wait := min(s.Sweep<<max(0, min(p.tries-maxTries+1, 20)), maxParked)
	p.until = time.Now().Add(wait)
	if p.tries == 1 || p.tries == maxTries {
		s.Logger.Error("the ledger refuses a result; it stays pending and is tried again",
			"game", r.Game, "match", r.Match, "tries", p.tries, "after", wait, "error", err)
	}
	if p.tries > 1 || len(s.parked) < s.Queue {
		s.parked[keyOf(r)] = p
	}
}
