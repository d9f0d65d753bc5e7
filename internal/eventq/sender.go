package eventq

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"laststand/internal/timer"
)

const (
	maxWorkers     = 512 // that serve games
	maxSlowWorkers = 64  // the same for games whose last attempt was slow
)

// The shares of the workers, as operators see them.
const (
	classShared = "shared"
	classSlow   = "slow"
	classOwn    = "own"
)

// sender takes batches of due games, sends them, and finishes them in the store.
// Its workers are goroutines that exist only while there is work. Waiting ones
// get a place in turn.
type sender struct {
	*shared
	members *membership
	places  map[string]*semaphore.Weighted // by class; none: not limited
}

func newSender(s *shared, m *membership) *sender {
	return &sender{
		shared: s, members: m,
		places: map[string]*semaphore.Weighted{classShared: semaphore.NewWeighted(maxWorkers), classSlow: semaphore.NewWeighted(maxSlowWorkers)},
	}
}

// dispatch lets a worker serve a due game, unless enough do. Only goroutines that the
// service counts as running may call it.
func (s *sender) dispatch(ctx context.Context, g *game) {
	if !g.sending.addWorker() {
		return
	}
	s.running.Go(func() {
		var finishing sync.WaitGroup // the batch before, along with the next take
		more, next := true, int64(0)
		for more && ctx.Err() == nil {
			more, next = s.serve(ctx, g, &finishing)
		}
		finishing.Wait()
		g.sending.removeWorker()
		if waitUntil(next, s.Now(), pollInterval) < pollInterval {
			timer.Wake(g.partition.pollNow)
		}
	})
}

// serve makes one take in a place of a worker, sends its messages, and reports what
// became of them. It returns whether a full batch may be taken at once, or else when to
// take again; 0: unknown.
func (s *sender) serve(ctx context.Context, g *game, finishing *sync.WaitGroup) (more bool, next int64) {
	class := g.class()
	places := s.places[class]
	if places != nil && places.Acquire(ctx, 1) != nil { // the service ends
		return false, 0
	}
	b := newBatch(g, s.ids.next())
	t, err := s.takeAndSend(ctx, b, class)
	if places != nil {
		places.Release(1)
	}
	more = len(t.Items) > 0 && s.hasFullBatch(g, t)
	switch {
	case err != nil:
		s.untilAnswered(ctx, b, func(ctx context.Context) error { return s.takeBack(ctx, b, class) })
	case more && b.result.CoolUntil == 0 && len(b.result.Requeue) == 0:
		finishing.Wait()
		finishing.Go(func() { s.finish(ctx, b) })
	case len(t.Items) > 0:
		s.finish(ctx, b)
	}
	return more, t.Next
}

// hasFullBatch reports whether a take has left a full batch that may be taken at once.
func (s *sender) hasFullBatch(g *game, t TakeResult) bool {
	return t.Left >= g.BatchSize && t.Next <= s.Now()
}

// takeAndSend makes a take, and sends its messages.
func (s *sender) takeAndSend(ctx context.Context, b *batch, class string) (t TakeResult, err error) {
	t, err = s.take(ctx, b, class)
	if len(t.Items) == 0 {
		if t.Left > 0 {
			s.metrics.limited.Inc()
		}
		return t, err
	}
	late, more := s.Now()-t.Items[0].QueuedAt-b.game.FlushMS, s.hasFullBatch(b.game, t)
	if b.game.sending.recordTake(time.Duration(late)*time.Millisecond, more); more {
		s.dispatch(ctx, b.game) // another worker, if the game is behind
	}
	s.sendBatch(ctx, b)
	return t, nil
}
