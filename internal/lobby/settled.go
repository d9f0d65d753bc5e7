package lobby

import (
	"context"
	"slices"
	"sync"
	"time"

	"laststand/internal/loop"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

const (
	maxSettleWait = 2 * time.Second // limit of the wait for a player's last result
	// settlePollInterval is the interval at which a join checks whether another node has
	// settled the player's last result. A result that this node settles wakes the join.
	settlePollInterval = 50 * time.Millisecond
)

// ReleaseSettled records that the players of matches, whose results are in the ledger, are no
// longer in them. It wakes the joins here that wait for that. It returns the results whose
// players are free, also with an error.
func (a *activities) ReleaseSettled(ctx context.Context, results []match.Result) (released []match.Result, err error) {
	byGame := make(map[string][]match.Result)
	for _, result := range results {
		byGame[result.Game] = append(byGame[result.Game], result)
	}
	for game, settled := range byGame {
		var players []PlayerMatch
		for _, result := range settled {
			for _, player := range result.HumanPlayers() {
				players = append(players, PlayerMatch{player, result.Match})
			}
		}
		if freeErr := a.Activities.Free(ctx, game, players); freeErr != nil {
			err = freeErr
			continue
		}
		released = append(released, settled...)
	}
	for _, result := range released {
		a.settled.wake(result.Match)
	}
	return released, err
}

// awaitSettled waits until the result of a match that is over is committed, at most until
// the deadline. It returns at once if no result waits.
func (a *activities) awaitSettled(ctx context.Context, id string, deadline time.Time) error {
	settled := a.settled.watch(id)
	defer a.settled.forget(id, settled)
	for {
		if isUnsettled, err := a.Statuses.IsUnsettled(ctx, id); err != nil || !isUnsettled {
			return err
		}
		if time.Now().After(deadline) {
			return protocol.RetryAfter(protocol.CodeUnavailable, 1000, "your last match is not settled yet; retry in 1 s")
		}
		select {
		case <-settled:
			return nil
		case <-time.After(settlePollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// settledSignals are the joins at this node that wait for the result of a match.
type settledSignals struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{} // by match
}

func newSettledSignals() *settledSignals {
	return &settledSignals{waiting: make(map[string][]chan struct{})}
}

// watch returns a channel that gets a value when this node settles a match. The caller must
// call forget.
func (s *settledSignals) watch(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	settled := make(chan struct{}, 1)
	s.waiting[id] = append(s.waiting[id], settled)
	return settled
}

func (s *settledSignals) forget(id string, settled chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[id] = slices.DeleteFunc(s.waiting[id], func(other chan struct{}) bool { return other == settled })
	if len(s.waiting[id]) == 0 {
		delete(s.waiting, id)
	}
}

func (s *settledSignals) wake(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, settled := range s.waiting[id] {
		loop.Wake(settled)
	}
}
