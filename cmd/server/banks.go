package main

import (
	"context"
	"errors"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/nickname"
	"laststand/internal/quiz"
)

func (n *node) openBanks(ctx context.Context) (*quiz.Library, error) {
	var games []quiz.GameBanks
	for _, name := range n.config.GameNames() {
		game := n.config.Games[name]
		games = append(games, quiz.GameBanks{Game: name, Banks: game.Banks, HostBanks: game.HostBanks, DuelQuestions: game.Duel.Questions})
	}
	return quiz.OpenLibrary(ctx, n.ledger.Banks, games, n.log)
}

// seatSource implements lobby.Players and arena.Players.
type seatSource struct{ *ledger.Players }

func (s seatSource) FindNamed(ctx context.Context, game, name string) (string, error) {
	var player string
	n, err := nickname.Parse(name)
	if err == nil {
		var p identity.Player
		p, err = s.PlayerBySkeleton(ctx, game, n.Skeleton)
		player = p.ID
	}
	if errors.Is(err, nickname.ErrInvalid) || errors.Is(err, identity.ErrNotFound) {
		return "", nil
	}
	return player, err
}
