package main

import (
	"context"
	"errors"
	"maps"
	"slices"

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
	lobby *lobby.Lobby
}

// MarkSettled releases the players of matches, so that they can join another match, and then marks
// the matches as settled. If players cannot be released, the results of their game stay pending for
// the next sweep.
func (p pendingResults) MarkSettled(ctx context.Context, results []match.Result) error {
	released, err := p.lobby.ReleaseSettled(ctx, results)
	return errors.Join(err, p.Results.MarkSettled(ctx, released))
}

// settledPusher pushes `settled` to the players of a match when its result is on the
// leaderboards.
type settledPusher struct {
	applier      *leaderboard.Applier
	leaderboards *leaderboard.Reader
}

// push implements match.Config.OnSettled. It sends the new standings and rating of each player to
// the sessions of settlements, all at this node and of one game.
func (p settledPusher) push(ctx context.Context, settlements []match.Settlement) error {
	game, players, mayLag := settlements[0].Game, make(map[string]struct{}), false
	for _, s := range settlements {
		mayLag = mayLag || s.LeaderboardsMayLag
		for player := range s.Sessions {
			players[player] = struct{}{}
		}
	}
	if len(players) == 0 {
		return nil
	}
	if mayLag {
		if err := p.applier.Apply(ctx, game); err != nil {
			return err
		}
	}
	standings, err := p.leaderboards.WindowStandings(ctx, game, slices.Collect(maps.Keys(players)))
	if err != nil {
		return err
	}
	for _, s := range settlements {
		pushSettled(s, standings)
	}
	return nil
}

func pushSettled(s match.Settlement, standings map[string]map[leaderboard.Window]leaderboard.WindowStanding) {
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
}
