package lobby

import (
	"context"
	"time"

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
		if settled, ok := a.settled.LoadAndDelete(result.Match); ok {
			close(settled.(chan struct{}))
		}
	}
	return released, err
}

// awaitSettled waits until the result of a match that is over is committed, at most until
// the deadline. It returns at once if no result waits. Joins that wait for one match share
// a channel; if the first one gives up, the others find the result at their next poll.
func (a *activities) awaitSettled(ctx context.Context, id string, deadline time.Time) error {
	settled, _ := a.settled.LoadOrStore(id, make(chan struct{}))
	defer a.settled.CompareAndDelete(id, settled)
	for {
		if isUnsettled, err := a.Statuses.IsUnsettled(ctx, id); err != nil || !isUnsettled {
			return err
		}
		if time.Now().After(deadline) {
			return protocol.RetryAfter(protocol.CodeUnavailable, 1000, "your last match is not settled yet; retry in 1 s")
		}
		select {
		case <-settled.(chan struct{}):
			return nil
		case <-time.After(settlePollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
