package eventq

import (
	"context"

	"golang.org/x/sync/semaphore"

	"laststand/internal/timer"
)

const (
	takesPerTurn = 8 // takes of one game by a worker before other games have their turn

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

// dispatch lets a worker serve a due game, unless enough do or the game rests.
// Only goroutines that the service counts as running may call it.
func (s *sender) dispatch(ctx context.Context, g *game) {
	if g.sending.addWorker() {
		s.running.Go(func() { s.serve(ctx, g) })
	}
}

// serve takes and sends batches of a game while full ones are left, for at most
// takesPerTurn takes.
func (s *sender) serve(ctx context.Context, g *game) {
	class := g.class()
	if places := s.places[class]; places != nil {
		if places.Acquire(ctx, 1) != nil { // the service ends
			g.sending.removeWorker()
			return
		}
		defer places.Release(1)
	}
	more, next := true, int64(0)
	for i := 0; more && i < takesPerTurn; i++ {
		more, next = s.takeAndSend(ctx, g, class)
	}
	g.sending.removeWorker()
	if more {
		s.dispatch(ctx, g)
	} else if waitUntil(next, s.Now(), pollInterval) < pollInterval {
		timer.Wake(g.partition.pollNow)
	}
}
