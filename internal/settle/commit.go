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
// ledger is down. During that time the size of the queue limits the offered results,
// and all others stay pending.
//
// If the ledger refuses a batch, settleBatch tries its parts, so that a bad result does
// not hold up others. Results of a game on hold stay pending. If swept is true,
// the players of results that the ledger already has are notified, too. It reports
// whether at least one result is settled or a dead letter.
func (s *Service) settleBatch(workCtx context.Context, batch []match.Result, swept bool) bool {
	if batch = s.withoutHeld(batch); len(batch) == 0 {
		return false
	}
	committed, retried, err := s.commit(workCtx, batch)
	switch {
	case err == nil:
		s.releaseHolds(batch)
		return s.finishBatch(workCtx, batch, resultsToNotify(batch, committed, swept || retried))
	case workCtx.Err() != nil:
		s.metrics.countFailures(reasonStopped, len(batch))
		return false
	case len(batch) == 1:
		return s.recordRefusal(workCtx, batch[0], err)
	}
	progress := false
	for _, part := range s.parts(batch) {
		progress = s.settleBatch(workCtx, part, swept) || progress
	}
	return progress
}

// parts splits a refused batch. It splits several games by game, and one game
// by result, with the results first that were not refused before.
func (s *Service) parts(batch []match.Result) (parts [][]match.Result) {
	index := map[string]int{}
	for _, result := range batch {
		i, known := index[result.Game]
		if !known {
			i, parts = len(parts), append(parts, nil)
			index[result.Game] = i
		}
		parts[i] = append(parts[i], result)
	}
	if len(parts) > 1 {
		return parts
	}
	untried, refused := []match.Result{}, []match.Result{}
	for _, result := range batch {
		if _, known := s.refusedResults[newMatchKey(result)]; known {
			refused = append(refused, result)
		} else {
			untried = append(untried, result)
		}
	}
	return slices.Collect(slices.Chunk(append(untried, refused...), 1))
}

// commit passes a batch to the ledger until the ledger answers. retried means that
// it tried more than once, so an earlier attempt may have committed the batch.
func (s *Service) commit(workCtx context.Context, batch []match.Result) (committed []Committed, retried bool, err error) {
	var wait backoff
	for ; ; retried = true {
		committed, err = s.commitOnce(workCtx, batch)
		s.logOutage(err)
		if err == nil || !s.isUnavailable(err) || workCtx.Err() != nil {
			return committed, retried, err
		}
		s.metrics.countFailures(reasonUnavailable, 1)
		sleep(workCtx, wait.next())
	}
}

func (s *Service) commitOnce(workCtx context.Context, batch []match.Result) ([]Committed, error) {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	began := time.Now()
	committed, err := s.Ledger.Commit(ctx, batch)
	if err == nil {
		s.metrics.observeCommit(committed, time.Since(began))
	}
	return committed, err
}

func (s *Service) isUnavailable(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || s.IsUnavailable(err)
}

// logOutage logs the first failure of an outage, and its end.
func (s *Service) logOutage(err error) {
	down := err != nil && s.isUnavailable(err)
	if down && !s.ledgerDown {
		s.Logger.Warn("ledger unavailable; results wait for a retry", "error", err)
	}
	if s.ledgerDown && !down {
		s.Logger.Info("ledger recovered")
	}
	s.ledgerDown = down
}

// resultsToNotify returns the results of a committed batch that count for
// leaderboards, with the ratings of the ledger. It leaves out results that the
// ledger already had, unless includeOld is true; another attempt notifies their
// players.
func resultsToNotify(batch []match.Result, committed []Committed, includeOld bool) []match.Result {
	var chosen []match.Result
	for i, result := range batch {
		if !committed[i].CountsForLeaderboards || !committed[i].IsNew && !includeOld {
			continue
		}
		if committed[i].Standings != nil {
			result.Standings = committed[i].Standings
		}
		chosen = append(chosen, result)
	}
	return chosen
}

// finishBatch follows a commit: it removes the batch from Pending, and queues the
// results to notify for the leaderboards. If Pending fails, a sweep finds the
// batch again, but its players are not notified again. It reports whether Pending
// removed the batch.
func (s *Service) finishBatch(workCtx context.Context, batch, toNotify []match.Result) bool {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	err := s.Pending.MarkSettled(ctx, batch)
	if err != nil {
		s.metrics.countFailures(reasonPending, len(batch))
		s.Logger.Warn("pending results removal failed; the next sweep retries", "results", len(batch), "error", err)
	}
	for _, result := range toNotify {
		if !s.notified[newMatchKey(result)] {
			s.enqueueForLeaderboards(workCtx, result)
		}
	}
	for _, result := range batch {
		delete(s.refusedResults, newMatchKey(result))
		delete(s.notified, newMatchKey(result))
		if err != nil && len(s.notified) < s.QueueSize {
			s.notified[newMatchKey(result)] = true
		}
	}
	return err == nil
}
