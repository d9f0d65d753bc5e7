package main

import (
	"context"
	"errors"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/nickname"
)

// seatSource returns the seat that a player gets in a match, with the nickname and rating in the
// ledger. It implements lobby.Players and arena.Players.
type seatSource struct{ ledger *ledger.Players }

func (s seatSource) Seat(ctx context.Context, game, player string) (match.Seat, error) {
	p, err := s.ledger.Player(ctx, game, player)
	if err != nil {
		return match.Seat{}, err
	}
	playerRating := p.Rating
	if p.RatedMatches == 0 {
		playerRating = match.DefaultRating()
	}
	return match.Seat{Player: p.ID, Nickname: p.Nickname, Rating: &playerRating}, nil
}

func (s seatSource) FindNamed(ctx context.Context, game, name string) (string, error) {
	var player string
	n, err := nickname.Parse(name)
	if err == nil {
		var p identity.Player
		p, err = s.ledger.PlayerBySkeleton(ctx, game, n.Skeleton)
		player = p.ID
	}
	if errors.Is(err, nickname.ErrInvalid) || errors.Is(err, identity.ErrNotFound) {
		return "", nil
	}
	return player, err
}
