package redisboard_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
	"laststand/internal/testenv"
)

// mixedConfig has a separate ranking for every order.
func mixedConfig() lb.Config {
	return lb.Config{
		Game:       "g" + strings.ToLower(rand.Text()[:12]),
		Windows:    []lb.Window{lb.All, lb.Day, "2d", "7d"},
		Orders:     lb.Orders(),
		Weights:    lb.Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50},
		MinAnswers: 4,
		Location:   time.UTC,
	}
}

// newAggregates is a result with n right answers.
func newAggregates(n int64) lb.Aggregates {
	return lb.Aggregates{Score: 100 * n, Matches: 1, Asked: 5, Answered: 5, Correct: n, LimitMS: 5000, TimeMS: 5000 - 300*n}
}

// storeFixture is a game whose boards a test writes with single transactions.
type storeFixture struct {
	*redisboard.Store
	rdb  redis.UniversalClient
	cfg  lb.Config
	last lb.State // state of the board set that was begun last
}

func eachStore(t *testing.T, f func(t *testing.T, s *storeFixture)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		f(t, &storeFixture{Store: redisboard.New(rdb), rdb: rdb, cfg: mixedConfig()})
	})
}

// begin begins a board set for the fixture's current configuration.
func (s *storeFixture) begin(t *testing.T, id, instead string) lb.Generation {
	t.Helper()
	s.last = lb.State{
		Generation: lb.Generation{Game: s.cfg.Game, ConfigHash: s.cfg.Hash(), ID: id},
		Version:    id + "-0", Loading: true, BegunAt: 1000,
		Progress: lb.Progress{Mark: lb.Watermark{Epoch: "e1"}},
	}
	if err := s.Begin(t.Context(), s.cfg, s.last, instead); err != nil {
		t.Fatal(err)
	}
	return s.last.Generation
}

// transaction returns the next transaction, with its watermark at a position.
func (s *storeFixture) step(pos int64, changes ...lb.Change) lb.Step {
	step := lb.Step{
		ExpectedVersion: s.last.Version, Version: fmt.Sprintf("%s-%d", s.last.ID, pos), PlannedAt: 2000,
		Progress: s.last.Progress, Changes: changes,
	}
	step.Mark = lb.Watermark{Epoch: "e1", Pos: pos, RowID: fmt.Sprint("r", pos), Day: "2026-11-21"}
	step.First, step.Oldest = "2026-11-20", "2026-11-20"
	return step
}

func (s *storeFixture) commit(t *testing.T, steps ...lb.Step) {
	t.Helper()
	if err := s.Commit(t.Context(), s.last.Generation, steps); err != nil {
		t.Fatal(err)
	}
	last := steps[len(steps)-1]
	s.last.Version, s.last.Progress = last.Version, last.Progress
}

func (s *storeFixture) publish(t *testing.T) {
	t.Helper()
	state, err := s.BuildingState(t.Context(), s.cfg.Game, s.cfg.Hash())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

// publishWith publishes a board set with entries on one board.
func (s *storeFixture) publishWith(t *testing.T, board lb.Board, held ...lb.BoardEntry) lb.Generation {
	t.Helper()
	g := s.begin(t, "first", "")
	s.commit(t, s.step(10, s.addEntries(board, held...)))
	s.publish(t)
	return g
}

// addEntries returns the change that adds entries to a board.
func (s *storeFixture) addEntries(board lb.Board, held ...lb.BoardEntry) lb.Change {
	c := lb.Change{Board: board, AsOf: 5000, Put: held, AddedMembers: map[lb.Order][]lb.Ranked{}}
	for _, h := range held {
		for _, o := range s.cfg.Rankings() {
			if lb.Rankable(o, h.Aggregates, s.cfg.MinAnswers) {
				c.AddedMembers[o] = append(c.AddedMembers[o], lb.Ranked{Key: lb.Key(o, h.Aggregates, s.cfg.Weights), Member: h.Member()})
			}
		}
	}
	return c
}

// removeEntries returns the change that removes entries.
func (s *storeFixture) removeEntries(board lb.Board, held ...lb.BoardEntry) lb.Change {
	c := lb.Change{Board: board, RemovedMembers: map[lb.Order][]string{}}
	for _, h := range held {
		c.Removed = append(c.Removed, h.ID)
		for _, o := range s.cfg.Rankings() {
			c.RemovedMembers[o] = append(c.RemovedMembers[o], h.Member())
		}
	}
	return c
}

// manyEntries returns n entries, each better than the one before.
func manyEntries(n int) []lb.BoardEntry {
	var held []lb.BoardEntry
	for i := range n {
		held = append(held, lb.BoardEntry{ID: fmt.Sprintf("p%04d", i), Newest: int64(i + 1), Aggregates: newAggregates(int64(i))})
	}
	return held
}

func (s *storeFixture) view(span string) lb.View {
	return lb.View{Game: s.cfg.Game, ConfigHash: s.cfg.Hash(), Board: lb.Board{Kind: lb.Players, Span: span}, Ranking: lb.ByScore}
}

func players(span string) lb.Board { return lb.Board{Kind: lb.Players, Span: span} }
