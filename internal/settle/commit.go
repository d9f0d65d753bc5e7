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
	if batch = s.withoutHeld(batch); len(batch) == 0 {
		return false
	}
	done, again, err := s.commit(work, batch)
	switch {
	case err == nil:
		s.release(batch)
		return s.finish(work, batch, resultsToNotify(batch, done, swept || again))
	case work.Err() != nil:
		s.metrics.countFailures(reasonStopped, len(batch))
		return false
	case len(batch) == 1:
		return s.recordRefusal(work, batch[0], err)
	}
	progress := false
	for _, part := range s.splitBatch(batch) {
		progress = s.settle(work, part, swept) || progress
	}
	return progress
}

// parts are what a refused batch is tried in: game by game, and of one game result
// by result, first those that were not refused before.
func (s *Settler) splitBatch(batch []match.Result) (splitBatch [][]match.Result) {
	index := map[string]int{}
	for _, r := range batch {
		i, known := index[r.Game]
		if !known {
			i, splitBatch = len(splitBatch), append(splitBatch, nil)
			index[r.Game] = i
		}
		splitBatch[i] = append(splitBatch[i], r)
	}
	if len(splitBatch) > 1 {
		return splitBatch
	}
	untried, refused := []match.Result{}, []match.Result{}
	for _, r := range batch {
		if _, known := s.refused[keyOf(r)]; known {
			refused = append(refused, r)
		} else {
			untried = append(untried, r)
		}
	}
	return slices.Collect(slices.Chunk(append(untried, refused...), 1))
}

// commit gives a batch to the ledger until that answers. again says that it was
// given more than once: an earlier time may have committed it.
func (s *Settler) commit(work context.Context, batch []match.Result) (done []Committed, again bool, err error) {
	var wait backoff
	for ; ; again = true {
		done, err = s.commitOnce(work, batch)
		s.logOutage(err)
		if err == nil || !s.isUnavailable(err) || work.Err() != nil {
			return done, again, err
		}
		s.metrics.countFailures(reasonUnavailable, 1)
		sleep(work, wait.next())
	}
}

func (s *Settler) commitOnce(work context.Context, batch []match.Result) ([]Committed, error) {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	began := time.Now()
	done, err := s.Ledger.Commit(ctx, batch)
	if err == nil {
		s.metrics.observeCommit(done, time.Since(began))
	}
	return done, err
}

func (s *Settler) isUnavailable(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || s.IsUnavailable(err)
}

// noteOutage logs the first failure of an outage, and its end.
func (s *Settler) logOutage(err error) {
	down := err != nil && s.isUnavailable(err)
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
func resultsToNotify(batch []match.Result, done []Committed, includeOld bool) []match.Result {
	var chosen []match.Result
	for i, r := range batch {
		if !done[i].Counted || !done[i].New && !includeOld {
			continue
		}
		if done[i].Standings != nil {
			r.Standings = done[i].Standings
		}
		chosen = append(chosen, r)
	}
	return chosen
}

// settled follows a commit: the batch is no longer pending, and what is to be
// told goes to the boards. If pending fails the sweep comes back to the batch,
// and its players are not told again.
func (s *Settler) finish(work context.Context, batch, toNotify []match.Result) bool {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	err := s.Pending.MarkSettled(ctx, batch)
	if err != nil {
		s.metrics.countFailures(reasonPending, len(batch))
		s.Logger.Warn("pending results removal failed; the next sweep retries", "results", len(batch), "error", err)
	}
	for _, r := range toNotify {
		if !s.notified[keyOf(r)] {
			s.enqueueForLeaderboards(work, r)
		}
	}
	for _, r := range batch {
		delete(s.refused, keyOf(r))
		delete(s.notified, keyOf(r))
		if err != nil && len(s.notified) < s.QueueSize {
			s.notified[keyOf(r)] = true
		}
	}
	return err == nil
}
