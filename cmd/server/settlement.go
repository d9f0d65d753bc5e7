package main

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"laststand/internal/leaderboard"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/protocol"
)

// pendingResults gives the settler access to the results in Redis that are not in the ledger yet.
// It implements settle.Pending.
type pendingResults struct {
	*redismatch.Results
	tickets lobby.ActivityStore
}

// maxConcurrentReleases is the maximum number of concurrent requests that release players.
const maxConcurrentReleases = 64

// MarkSettled marks matches as settled and releases their players, so that they can join another
// match.
func (p pendingResults) MarkSettled(ctx context.Context, results []match.Result) error {
	if err := p.Results.MarkSettled(ctx, results); err != nil {
		return err // the next sweep tries again
	}
	var group errgroup.Group
	group.SetLimit(maxConcurrentReleases)
	for _, r := range results {
		for _, player := range r.HumanPlayers() {
			group.Go(func() error { return p.tickets.Free(ctx, r.Game, player, r.Match) })
		}
	}
	return group.Wait()
}

// settledPusher pushes `settled` to the players of a match when its result is on the
// leaderboards.
type settledPusher struct{ leaderboards *leaderboard.Reader }

// push implements match.Config.OnSettled. It sends the new standings and rating of each player to
// the sessions of s, all at this node.
func (p settledPusher) push(ctx context.Context, s match.Settlement) error {
	if len(s.Sessions) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(s.Sessions))
	standings, err := p.leaderboards.WindowStandings(ctx, s.Game, ids)
	if err != nil {
		return err
	}
	for player, sub := range s.Sessions {
		settled := protocol.Settled{Match: s.Match, Standings: make(map[string]protocol.SettledStanding)}
		if rating, isRated := s.Ratings[player]; isRated {
			settled.Rating = &rating
		}
		for window, standing := range standings[player] {
			settled.Standings[string(window)] = protocol.SettledStanding(standing)
		}
		sub.Push("", protocol.EncodePush(protocol.TypeSettled, settled))
	}
	return nil
}
