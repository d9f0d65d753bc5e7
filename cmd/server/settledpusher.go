package main

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

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
