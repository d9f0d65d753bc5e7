package main

import (
	"errors"

	"laststand/internal/arena"
	"laststand/internal/lobby"
	"laststand/internal/quiz"
	"laststand/internal/quiz/bank"
)

// arenaBanks are the questions that arenas ask: of all banks of a game, or of
// one. It implements arena.Bank.
type arenaBanks struct{ *banks }

func (b arenaBanks) Count(game string, w arena.Wish) int {
	return b.of(game, w.Bank).Count(wished(w, 0))
}

func (b arenaBanks) Draw(game string, w arena.Wish, count int) ([]quiz.Drawn, error) {
	return b.of(game, w.Bank).Draw(wished(w, count), nil, newRand())
}

func (b arenaBanks) Pick(game, name string, ids []string) ([]quiz.Drawn, error) {
	questions, err := b.of(game, name).Pick(ids, newRand())
	if errors.Is(err, bank.ErrUnknown) {
		return nil, errors.Join(arena.ErrUnknownQuestion, err)
	}
	return questions, err
}

// of is one bank of a game, or all of them where the name is "".
func (b arenaBanks) of(game, name string) *bank.Pool {
	if name == "" {
		return b.pool(game)
	}
	if one := (*b.pools.Load())[game].byBank[name]; one != nil {
		return one
	}
	return bank.NewPool() // a bank that the game does not have has no questions
}

func wished(w arena.Wish, count int) bank.Spec {
	return spec(lobby.Wish{Category: w.Category, Lang: w.Lang, Difficulty: w.Difficulty}, count)
}
