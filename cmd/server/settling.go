package main

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"laststand/internal/leaderboard"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/protocol"
)

// pending are the results that wait in Redis for the ledger. It implements
// settle.Pending.
type pending struct {
	matches *redismatch.Store
	tickets lobby.Store
}

func (p pending) Results(ctx context.Context, limit int) ([]match.Result, error) {
	return p.matches.Results(ctx, limit)
}

// freedAtOnce is how many players are freed at a time.
const freedAtOnce = 64

// Settled marks matches as settled and frees their players for the next one.
func (p pending) Settled(ctx context.Context, results []match.Result) error {
	if err := p.matches.Settled(ctx, results); err != nil {
		return err // told again by the next sweep
	}
	var group errgroup.Group
	group.SetLimit(freedAtOnce)
	for _, r := range results {
		for _, player := range people(r) {
			group.Go(func() error { return p.tickets.Free(ctx, r.Game, player, r.Match) })
		}
	}
	return group.Wait()
}

// teller tells players that a result of theirs is on the boards.
type teller struct {
	presence *match.Presence
	boards   *leaderboard.Reader
	log      *slog.Logger
}

func (t teller) tell(ctx context.Context, r match.Result) {
	here := make(map[string]match.Subscriber)
	ids := make([]string, 0, len(r.Standings))
	for _, player := range people(r) {
		if sub, ok := t.presence.Find(r.Game, player); ok {
			here[player] = sub
			ids = append(ids, player)
		}
	}
	if len(ids) == 0 {
		return
	}
	places, _, err := t.boards.Places(ctx, r.Game, ids)
	if err != nil {
		t.log.Warn("players could not be told that a result is settled; the boards show it", "match", r.Match, "error", err)
		return
	}
	for player, sub := range here {
		settled := protocol.Settled{Match: r.Match, Standings: make(map[string]protocol.SettledStanding)}
		for window, place := range places[player] {
			settled.Standings[string(window)] = protocol.SettledStanding(place)
		}
		sub.Push("", protocol.EncodePush(protocol.TypeSettled, settled))
	}
}

// people are the players of a result that are no bots.
func people(r match.Result) []string {
	ids := make([]string, 0, len(r.Standings))
	for _, s := range r.Standings {
		if !s.Bot {
			ids = append(ids, s.Player)
		}
	}
	return ids
}
