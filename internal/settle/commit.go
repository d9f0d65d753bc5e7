package settle

import (
	"context"
	"slices"
	"time"

	"laststand/internal/match"
	"laststand/internal/timer"
)

// fullBatchStandings is the number of standings at which a batch is full. The
// last result of a batch may exceed it, because a result is never split.
const fullBatchStandings = 20_000

func (s *Service) isFull(batch []match.Result) bool {
	standings := 0
	for i := range batch {
		standings += len(batch[i].Standings)
	}
	return len(batch) >= s.BatchSize || standings >= fullBatchStandings
}

// collectBatch returns a batch that starts with the given result and contains the results
// that wait in the queue. If none wait, it first gives others batchDelay to arrive.
func (s *Service) collectBatch(ctx context.Context, first match.Result) []match.Result {
	collected := []match.Result{first}
	if len(s.queue) == 0 {
		timer.Sleep(ctx, batchDelay)
	}
	for len(s.queue) > 0 && !s.isFull(collected) { // only Run's loop receives from the queue
		collected = append(collected, <-s.queue)
	}
	return collected
}

// settleBatch commits a batch to the ledger and finishes it. It waits while the
// ledger is down. During that time the size of the queue limits the offered results,
// and all others stay pending.
//
// If the ledger refuses a batch, settleBatch tries its results one by one, so that a bad
// result does not hold up others. Results of a game on hold stay pending. If swept is true,
// the players of results that the ledger already has are notified, too. It reports
// whether at least one result is settled or a dead letter.
func (s *Service) settleBatch(workCtx context.Context, results []match.Result, swept bool) bool {
	count := len(results)
	results = slices.DeleteFunc(slices.Clone(results), s.holds.contain)
	s.metrics.countFailures(reasonHeld, count-len(results))
	if len(results) == 0 {
		return false
	}
	committed, retried, err := s.commit(workCtx, results)
	switch {
	case err == nil:
		s.holds.release(results, s.Logger)
		return s.finishBatch(workCtx, results, committed, swept || retried)
	case workCtx.Err() != nil:
		s.metrics.countFailures(reasonStopped, len(results))
		return false
	case len(results) == 1:
		return s.recordRefusal(workCtx, results[0], err)
	}
	// The results that were refused before come last: they may cause a hold.
	isRefused := func(result match.Result) bool { return s.refusedResults[newMatchKey(result)].isKnown() }
	untried := slices.DeleteFunc(slices.Clone(results), isRefused)
	progress := false
	for _, result := range append(untried, slices.DeleteFunc(results, func(result match.Result) bool { return !isRefused(result) })...) {
		progress = s.settleBatch(workCtx, []match.Result{result}, swept) || progress
	}
	return progress
}

// commit passes results to the ledger until the ledger answers. retried means that
// it tried more than once, so an earlier attempt may have committed the results.
func (s *Service) commit(workCtx context.Context, results []match.Result) (committed []Committed, retried bool, err error) {
	for attempts := int64(1); ; attempts++ {
		committed, err = s.commitOnce(workCtx, results)
		if err == nil || !s.IsUnavailable(err) || workCtx.Err() != nil {
			return committed, attempts > 1, err
		}
		s.metrics.countFailures(reasonUnavailable, 1)
		timer.Sleep(workCtx, callBackoff.RandomWait(attempts))
	}
}

// commitOnce calls the ledger. It logs the first failure of an outage, and its end.
func (s *Service) commitOnce(workCtx context.Context, results []match.Result) ([]Committed, error) {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	began := time.Now()
	committed, err := s.Ledger.Commit(ctx, results)
	if err == nil {
		s.metrics.observeCommit(committed, time.Since(began))
	}
	isDown := err != nil && s.IsUnavailable(err)
	if isDown && !s.ledgerDown {
		s.Logger.Warn("ledger unavailable; results wait for a retry", "error", err)
	}
	if s.ledgerDown && !isDown {
		s.Logger.Info("ledger recovered")
	}
	s.ledgerDown = isDown
	return committed, err
}

// applyCommitted returns the results with what the ledger says of them: their ratings, and
// whether they count for leaderboards.
func applyCommitted(results []match.Result, committed []Committed) []match.Result {
	settled := slices.Clone(results)
	for i, reply := range committed {
		settled[i].CountsForLeaderboards = reply.CountsForLeaderboards
		if reply.Standings != nil {
			settled[i].Standings = reply.Standings
		}
	}
	return settled
}

// finishBatch follows a commit: it removes the results from Pending, and queues those that
// count for leaderboards to be notified. It leaves out results that the ledger already
// had, unless includeOld is true; another attempt notifies their players. If Pending
// fails, it queues none: the next sweep finds the results that are still pending, and the
// nodes of the players find the others. It reports whether Pending removed the results.
func (s *Service) finishBatch(workCtx context.Context, results []match.Result, committed []Committed, includeOld bool) bool {
	ctx, cancel := context.WithTimeout(workCtx, callTimeout)
	defer cancel()
	settled := applyCommitted(results, committed)
	if err := s.Pending.MarkSettled(ctx, settled); err != nil {
		s.metrics.countFailures(reasonPending, len(results))
		s.Logger.Warn("pending results removal failed; the next sweep retries", "results", len(results), "error", err)
		return false
	}
	for i, result := range settled {
		delete(s.refusedResults, newMatchKey(result))
		if result.CountsForLeaderboards && (committed[i].IsNew || includeOld) {
			s.notify(workCtx, result)
		}
	}
	return true
}
