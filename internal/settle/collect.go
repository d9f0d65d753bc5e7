package settle

import (
	"context"
	"time"

	"laststand/internal/match"
)

// fullBatchStandings is the number of standings at which a batch is full. The
// last result of a batch may exceed it, because a result is never split.
const maxSeats = 20_000

// collectBatch returns a batch that starts with the given result. If other results
// wait in the queue, the batch contains them and does not wait for more. Otherwise
// it waits for more results until it is full, for at most BatchDelay.
func (s *Settler) collectBatch(ctx context.Context, first match.Result) []match.Result {
	batch, seats := []match.Result{first}, len(first.Standings)
	var timeout <-chan time.Time
	if len(s.queue) == 0 {
		timeout = time.After(s.BatchDelay)
	}
	for !s.isFull(len(batch), seats) {
		r, ok := s.nextOffered(ctx, timeout)
		if !ok {
			break
		}
		batch, seats = append(batch, r), seats+len(r.Standings)
	}
	return batch
}

// isFull reports whether a batch accepts no more results.
func (s *Settler) isFull(results, seats int) bool { return results >= s.BatchSize || seats >= maxSeats }

// splitBySize splits the results of a sweep into batches.
func (s *Settler) splitBySize(found []match.Result) (all [][]match.Result) {
	from, seats := 0, 0
	for i, r := range found {
		seats += len(r.Standings)
		if s.isFull(i+1-from, seats) {
			all = append(all, found[from:i+1])
			from, seats = i+1, 0
		}
	}
	if from < len(found) {
		all = append(all, found[from:])
	}
	return all
}

// nextOffered returns the next offered result: a waiting one, or one that arrives
// before the timeout, if there is a timeout.
func (s *Settler) nextOffered(ctx context.Context, timeout <-chan time.Time) (match.Result, bool) {
	select {
	case r := <-s.queue:
		return r, true
	default:
	}
	if timeout == nil {
		return match.Result{}, false
	}
	select {
	case r := <-s.queue:
		return r, true
	case <-timeout:
	case <-ctx.Done():
	}
	return match.Result{}, false
}
