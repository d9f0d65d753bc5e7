package main

import (
	"errors"

	"laststand/internal/arena"
	"laststand/internal/lobby"
	"laststand/internal/quiz"
	"laststand/internal/quiz/bank"
)

// arenaBanks draws the questions of arenas, from all banks of a game or from one. It
// implements arena.Bank.
type arenaBanks struct{ *banks }

func (b arenaBanks) Count(game string, w arena.Filter) int {
	return b.pool(game, w.Bank, w.Host).Count(specOf(w, 0))
}

func (b arenaBanks) Draw(game string, w arena.Filter, count int) ([]quiz.Drawn, error) {
	return b.pool(game, w.Bank, w.Host).Draw(specOf(w, count), nil, newRand())
}

func (b arenaBanks) Pick(game, name string, ids []string, host bool) ([]quiz.Drawn, error) {
	questions, err := b.pool(game, name, host).Pick(ids, newRand())
	if errors.Is(err, bank.ErrUnknown) {
		return nil, errors.Join(arena.ErrUnknownQuestion, err)
	}
	return questions, err
}

// pool returns the questions of one bank of a game, or of all its banks if name is "". Banks of
// host_banks are included only if host is set. An unknown game or bank has an empty pool.
func (b arenaBanks) pool(game, name string, host bool) *bank.Pool {
	p, known := (*b.pools.Load())[game]
	switch {
	case !known:
	case name == "" && host:
		return p.hosts
	case name == "":
		return p.all
	case p.byBank[name] != nil && (host || !p.ofHosts[name]):
		return p.byBank[name]
	}
	return bank.NewPool() // an empty pool, because the game does not have this bank
}

func specOf(w arena.Filter, count int) bank.Spec {
	return spec(lobby.Filter{Category: w.Category, Lang: w.Lang, Difficulty: w.Difficulty}, count)
}
