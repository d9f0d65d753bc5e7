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

func (b arenaBanks) Count(game string, filter arena.Filter) int {
	return b.pool(game, filter.Bank, filter.IncludeHostBanks).Count(arenaBankSpec(filter, 0))
}

func (b arenaBanks) Draw(game string, filter arena.Filter, count int) ([]quiz.DrawnQuestion, error) {
	return b.pool(game, filter.Bank, filter.IncludeHostBanks).Draw(arenaBankSpec(filter, count), nil, newRand())
}

func (b arenaBanks) Pick(game, name string, ids []string, host bool) ([]quiz.DrawnQuestion, error) {
	questions, err := b.pool(game, name, host).Pick(ids, newRand())
	if errors.Is(err, bank.ErrUnknownID) {
		return nil, errors.Join(arena.ErrUnknownQuestion, err)
	}
	return questions, err
}

// pool returns the questions of one bank of a game, or of all its banks if name is "". Banks of
// host_banks are included only if host is set. An unknown game or bank has an empty pool.
func (b arenaBanks) pool(game, name string, host bool) *bank.Pool {
	p, isConfigured := (*b.pools.Load())[game]
	switch {
	case !isConfigured:
	case name == "" && host:
		return p.withHostBanks
	case name == "":
		return p.public
	case p.byBank[name] != nil && (host || !p.isHostBank[name]):
		return p.byBank[name]
	}
	return bank.NewPool() // an empty pool, because the game does not have this bank
}

func arenaBankSpec(filter arena.Filter, count int) bank.DrawSpec {
	return bankSpec(lobby.Filter{Category: filter.Category, Lang: filter.Lang, Difficulty: filter.Difficulty}, count)
}
