package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
)

// callTimeout bounds one call of the ledger, of pending or of the boards.
const callTimeout = 10 * time.Second

// settle takes a batch into the ledger and on. It waits while the ledger is
// down: what is offered meanwhile is bounded by the queue, the rest is pending.
// A batch that is refused is tried in parts, so that a result holds up nothing but
// itself. Results of a game on hold stay pending. swept says that players may not
// have been told of results that the ledger has already. It reports whether some of
// it is settled, or dead.
func (s *Settler) settle(work context.Context, batch []match.Result, swept bool) bool {
	if batch = s.unheld(batch); len(batch) == 0 {
		return false
	}
	done, again, err := s.commit(work, batch)
	switch {
	case err == nil:
		s.release(batch)
		return s.settled(work, batch, tellable(batch, done, swept || again))
	case work.Err() != nil:
		s.metrics.failed(reasonStopped, len(batch))
		return false
	case len(batch) == 1:
		return s.refused(work, batch[0], err)
	}
	progress := false
	for _, part := range s.parts(batch) {
		progress = s.settle(work, part, swept) || progress
	}
	return progress
}

// parts are what a refused batch is tried in: game by game, and of one game result
// by result, first those that were not refused before.
func (s *Settler) parts(batch []match.Result) (parts [][]match.Result) {
	at := map[string]int{}
	for _, r := range batch {
		i, known := at[r.Game]
		if !known {
			i, parts = len(parts), append(parts, nil)
			at[r.Game] = i
		}
		parts[i] = append(parts[i], r)
	}
	if len(parts) > 1 {
		return parts
	}
	fresh, refused := []match.Result{}, []match.Result{}
	for _, r := range batch {
		if _, known := s.parked[keyOf(r)]; known {
			refused = append(refused, r)
		} else {
			fresh = append(fresh, r)
		}
	}
	return slices.Collect(slices.Chunk(append(fresh, refused...), 1))
}

// commit gives a batch to the ledger until that answers. again says that it was
// given more than once: an earlier time may have committed it.
func (s *Settler) commit(work context.Context, batch []match.Result) (done []Committed, again bool, err error) {
	var wait backoff
	for ; ; again = true {
		done, err = s.commitOnce(work, batch)
		s.noteOutage(err)
		if err == nil || !s.down(err) || work.Err() != nil {
			return done, again, err
		}
		s.metrics.failed(reasonUnavailable, 1)
		pause(work, wait.next())
	}
}

func (s *Settler) commitOnce(work context.Context, batch []match.Result) ([]Committed, error) {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	began := time.Now()
	done, err := s.Ledger.Commit(ctx, batch)
	if err == nil {
		s.metrics.committed(done, time.Since(began))
	}
	return done, err
}

func (s *Settler) down(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || s.Down(err)
}

// noteOutage logs the first failure of an outage, and its end.
func (s *Settler) noteOutage(err error) {
	down := err != nil && s.down(err)
	if down && !s.outage {
		s.Logger.Warn("ledger unavailable; results wait for a retry", "error", err)
	}
	if s.outage && !down {
		s.Logger.Info("ledger recovered")
	}
	s.outage = down
}

// tellable are the results of a committed batch that count, and whose players
// are to be told, with the ratings of the ledger. One that the ledger had already is another's to tell of, unless all are.
func tellable(batch []match.Result, done []Committed, all bool) []match.Result {
	var some []match.Result
	for i, r := range batch {
		if !done[i].Counted || !done[i].New && !all {
			continue
		}
		if done[i].Standings != nil {
			r.Standings = done[i].Standings
		}
		some = append(some, r)
	}
	return some
}

// settled follows a commit: the batch is no longer pending, and what is to be
// told goes to the boards. If pending fails the sweep comes back to the batch,
// and its players are not told again.
func (s *Settler) settled(work context.Context, batch, tell []match.Result) bool {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	err := s.Pending.Settled(ctx, batch)
	if err != nil {
		s.metrics.failed(reasonPending, len(batch))
		s.Logger.Warn("pending results removal failed; the next sweep retries", "results", len(batch), "error", err)
	}
	for _, r := range tell {
		if !s.told[keyOf(r)] {
			s.show(work, r)
		}
	}
	for _, r := range batch {
		delete(s.parked, keyOf(r))
		delete(s.told, keyOf(r))
		if err != nil && len(s.told) < s.Queue {
			s.told[keyOf(r)] = true
		}
	}
	return err == nil
}
