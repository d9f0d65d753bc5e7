package main

import (
	"context"

	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/rating"
)

// seats returns the seats of players in a match from the ledger. It implements lobby.Players.
type seats struct{ ledger *ledger.Ledger }

func (s seats) Seat(ctx context.Context, game, player string) (match.Seat, error) {
	p, err := s.ledger.Player(ctx, game, player)
	if err != nil {
		return match.Seat{}, err
	}
	rated := p.Rating
	if p.Rated == 0 {
		rated = rating.Default()
	}
	return match.Seat{Player: p.ID, Nickname: p.Nickname, Rating: &rated}, nil
}
