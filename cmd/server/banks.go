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

// FindNamed returns the id of the player whose nickname looks like name, or "" if there is none.
func (s seatSource) FindNamed(ctx context.Context, game, name string) (string, error) {
	player, err := findNamed(ctx, s.Players, game, name)
	if errors.Is(err, nickname.ErrInvalid) || errors.Is(err, identity.ErrNotFound) {
		return "", nil
	}
	return player.ID, err
}

// findNamed returns the player whose nickname looks like name.
func findNamed(ctx context.Context, players *ledger.Players, game, name string) (identity.Player, error) {
	parsed, err := nickname.Parse(name)
	if err != nil {
		return identity.Player{}, err
	}
	return players.PlayerBySkeleton(ctx, game, parsed.Skeleton)
}
