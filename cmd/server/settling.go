package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
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

func (p pending) Complete(ctx context.Context, r *match.Result) error {
	return match.CompleteStandings(ctx, p.matches, r)
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
