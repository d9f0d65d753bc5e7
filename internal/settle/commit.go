package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
)

// callTimeout limits one call of the ledger, of Pending or of the leaderboards.
const callTimeout = 10 * time.Second

// settleBatch commits a batch to the ledger and finishes it. It waits while the
// ledger is down. Meanwhile the size of the queue limits the offered results, and
// all others stay pending.
//
// If the ledger refuses a batch, settleBatch tries its parts, so that a bad result does
// not hold up others. Results of a game on hold stay pending. If swept is true,
// the players of results that the ledger already has are notified, too. It reports
// whether at least one result is settled or a dead letter.
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

// splitBatch splits a refused batch. It splits several games by game, and one game
// by result, with the results first that were not refused before.
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

// commit passes a batch to the ledger until the ledger answers. retried means that
// it tried more than once, so an earlier attempt may have committed the batch.
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

// logOutage logs the first failure of an outage, and its end.
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

// resultsToNotify returns the results of a committed batch that count for
// leaderboards, with the ratings of the ledger. It leaves out results that the
// ledger already had, unless includeOld is true; another attempt notifies their
// players.
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

// finishBatch follows a commit: it removes the batch from Pending, and queues the
// results to notify for the leaderboards. If Pending fails, a sweep finds the
// batch again, but its players are not notified again. It reports whether Pending
// removed the batch.
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
