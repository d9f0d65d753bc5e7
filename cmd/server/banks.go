package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"laststand/internal/arena"
	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/lobby"
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

type duelBanks struct{ *quiz.Library }

func (b duelBanks) Count(game string, filter lobby.Filter) int {
	return b.Pool(game, "", false).Count(drawSpec(filter, 0))
}

func (b duelBanks) Draw(game string, filter lobby.Filter, count int, seen func(id string) bool) ([]quiz.DrawnQuestion, error) {
	return b.Pool(game, "", false).Draw(drawSpec(filter, count), seen, newRand())
}

// arenaBanks draws the questions of arenas, from all banks of a game or from one. It
// implements arena.Bank.
type arenaBanks struct{ *quiz.Library }

func (b arenaBanks) Count(game string, filter arena.Filter) int {
	return b.Pool(game, filter.Bank, filter.IncludeHostBanks).Count(arenaDrawSpec(filter, 0))
}

func (b arenaBanks) Draw(game string, filter arena.Filter, count int) ([]quiz.DrawnQuestion, error) {
	return b.Pool(game, filter.Bank, filter.IncludeHostBanks).Draw(arenaDrawSpec(filter, count), nil, newRand())
}

func (b arenaBanks) Pick(game, name string, ids []string, host bool) ([]quiz.DrawnQuestion, error) {
	questions, err := b.Pool(game, name, host).Pick(ids, newRand())
	if errors.Is(err, quiz.ErrUnknownID) {
		return nil, errors.Join(arena.ErrUnknownQuestion, err)
	}
	return questions, err
}

func newRand() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // seeded by the runtime's secure source; a match needs no more security
}

func drawSpec(filter lobby.Filter, count int) quiz.DrawSpec {
	return quiz.DrawSpec{Category: filter.Category, Lang: filter.Lang, Difficulty: strings.ToLower(filter.Difficulty), Count: count}
}

func arenaDrawSpec(filter arena.Filter, count int) quiz.DrawSpec {
	return drawSpec(lobby.Filter{Category: filter.Category, Lang: filter.Lang, Difficulty: filter.Difficulty}, count)
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
