package settle

import (
	"context"
	"time"

	"laststand/internal/match"
)

// fullBatchStandings is the number of standings at which a batch is full. The
// last result of a batch may exceed it, because a result is never split.
const fullBatchStandings = 20_000

// collectBatch returns a batch that starts with the given result. If other results
// wait in the queue, the batch contains them and does not wait for more. Otherwise
// it waits for more results until it is full, for at most BatchDelay.
func (s *Service) collectBatch(ctx context.Context, first match.Result) []match.Result {
	batch, standings := []match.Result{first}, len(first.Standings)
	var timeout <-chan time.Time
	if len(s.queue) == 0 {
		timeout = time.After(s.BatchDelay)
	}
	for !s.isFull(len(batch), standings) {
		result, ok := s.nextOffered(ctx, timeout)
		if !ok {
			break
		}
		batch, standings = append(batch, result), standings+len(result.Standings)
	}
	return batch
}

// isFull reports whether a batch accepts no more results.
func (s *Service) isFull(results, standings int) bool {
	return results >= s.BatchSize || standings >= fullBatchStandings
}

// splitBySize splits the results of a sweep into batches.
func (s *Service) splitBySize(results []match.Result) (batches [][]match.Result) {
	start, standings := 0, 0
	for i, result := range results {
		standings += len(result.Standings)
		if s.isFull(i+1-start, standings) {
			batches = append(batches, results[start:i+1])
			start, standings = i+1, 0
		}
	}
	if start < len(results) {
		batches = append(batches, results[start:])
	}
	return batches
}

// nextOffered returns the next offered result: a waiting one, or one that arrives
// before the timeout, if there is a timeout.
func (s *Service) nextOffered(ctx context.Context, timeout <-chan time.Time) (match.Result, bool) {
	select {
	case result := <-s.queue:
		return result, true
	default:
	}
	if timeout == nil {
		return match.Result{}, false
	}
	select {
	case result := <-s.queue:
		return result, true
	case <-timeout:
	case <-ctx.Done():
	}
	return match.Result{}, false
}
