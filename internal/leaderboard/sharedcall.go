package leaderboard

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/singleflight"
)

// sharedCall runs one job at a time and shares its result with the callers that wait for
// it. So many concurrent callers cause only two jobs. The zero value is ready.
type sharedCall struct{ group singleflight.Group }

// do returns the result of a job that started after the call of do. The job runs with the
// context of its own caller. If that context ends, other callers run a job of their own.
func (s *sharedCall) do(ctx context.Context, job func() error) error {
	for isFresh := false; ; isFresh = true { // a job that runs already at the call is not fresh
		var isOwn atomic.Bool
		result := s.group.DoChan("", func() (any, error) {
			isOwn.Store(true)
			return nil, job()
		})
		select {
		case shared := <-result:
			isCancelled := errors.Is(shared.Err, context.Canceled) || errors.Is(shared.Err, context.DeadlineExceeded)
			if isOwn.Load() || isFresh && !isCancelled {
				return shared.Err
			}
		case <-ctx.Done():
			if isOwn.Load() {
				<-result // the job ends with ctx
			}
			return ctx.Err()
		}
	}
}
