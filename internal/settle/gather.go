package settle

import (
	"context"
	"time"

	"laststand/internal/match"
)

// maxSeats bounds the standings of one batch, unless a single result has more.
const maxSeats = 20_000

// gather makes a batch that begins with a result. What has gathered during the
// commit before goes out at once; a result that comes alone waits for others,
// for as long as Linger.
func (s *Settler) gather(ctx context.Context, first match.Result) []match.Result {
	batch, seats := []match.Result{first}, len(first.Standings)
	var patience <-chan time.Time
	if len(s.queue) == 0 {
		patience = time.After(s.Linger)
	}
	for len(batch) < s.Batch && seats < maxSeats {
		r, ok := s.following(ctx, patience)
		if !ok {
			break
		}
		batch, seats = append(batch, r), seats+len(r.Standings)
	}
	return batch
}

// following is the next offered result: one that is there, or that comes before
// patience, if there is any, is over.
func (s *Settler) following(ctx context.Context, patience <-chan time.Time) (match.Result, bool) {
	select {
	case r := <-s.queue:
		return r, true
	default:
	}
	if patience == nil {
		return match.Result{}, false
	}
	select {
	case r := <-s.queue:
		return r, true
	case <-patience:
	case <-ctx.Done():
	}
	return match.Result{}, false
}
