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
	"laststand/internal/trial"
)

// mixed has every order in a ranking of its own.
func mixed() lb.Config {
	return lb.Config{
		Game:       "g" + strings.ToLower(rand.Text()[:12]),
		Windows:    []lb.Window{lb.All, lb.Day, "2d", "7d"},
		Orders:     lb.Orders(),
		Weights:    lb.Weights{Score: 2, Accuracy: 3, Speed: 1, Matches: 50},
		MinAnswers: 4,
		Location:   time.UTC,
	}
}

// right is a result with n right answers.
func right(n int64) lb.Parts {
	return lb.Parts{Score: 100 * n, Matches: 1, Asked: 5, Answered: 5, Correct: n, LimitMS: 5000, TimeMS: 5000 - 300*n}
}

// shelf is a game whose boards a test writes by hand.
type shelf struct {
	*redisboard.Store
	rdb  redis.UniversalClient
	cfg  lb.Config
	last lb.State // that was begun
}

func eachShelf(t *testing.T, f func(t *testing.T, s *shelf)) {
	t.Parallel()
	trial.EachRedis(t, func(t *testing.T, rdb redis.UniversalClient) {
		f(t, &shelf{Store: redisboard.New(rdb), rdb: rdb, cfg: mixed()})
	})
}

// begin starts a copy in whatever form the shelf's configuration has now.
func (s *shelf) begin(t *testing.T, id, instead string) lb.Generation {
	t.Helper()
	s.last = lb.State{
		Generation: lb.Generation{Game: s.cfg.Game, Form: s.cfg.Form(), ID: id},
		Stamp:      id + "-0", Loading: true, At: 1000,
		Progress: lb.Progress{Mark: lb.Watermark{Epoch: "e1"}},
	}
	if err := s.Begin(t.Context(), s.cfg, s.last, instead); err != nil {
		t.Fatal(err)
	}
	return s.last.Generation
}

// step is the next one after the last, at a position.
func (s *shelf) step(pos int64, changes ...lb.Change) lb.Step {
	step := lb.Step{
		Expect: s.last.Stamp, Stamp: fmt.Sprintf("%s-%d", s.last.ID, pos), At: 2000,
		Progress: s.last.Progress, Changes: changes,
	}
	step.Mark = lb.Watermark{Epoch: "e1", Pos: pos, RowID: fmt.Sprint("r", pos), Day: "2026-11-21"}
	step.First, step.Oldest = "2026-11-20", "2026-11-20"
	return step
}

func (s *shelf) commit(t *testing.T, steps ...lb.Step) {
	t.Helper()
	if err := s.Commit(t.Context(), s.last.Generation, steps); err != nil {
		t.Fatal(err)
	}
	last := steps[len(steps)-1]
	s.last.Stamp, s.last.Progress = last.Stamp, last.Progress
}

func (s *shelf) publish(t *testing.T) {
	t.Helper()
	state, err := s.Building(t.Context(), s.cfg.Game, s.cfg.Form())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Publish(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

// served publishes a copy that has entries on a board.
func (s *shelf) served(t *testing.T, board lb.Board, held ...lb.Held) lb.Generation {
	t.Helper()
	g := s.begin(t, "first", "")
	s.commit(t, s.step(10, s.enter(board, held...)))
	s.publish(t)
	return g
}

// enter is the change by which entries come to a board.
func (s *shelf) enter(board lb.Board, held ...lb.Held) lb.Change {
	c := lb.Change{Board: board, AsOf: 5000, Put: held, In: map[lb.Order][]lb.Ranked{}}
	for _, h := range held {
		for _, o := range s.cfg.Rankings() {
			if lb.Rankable(o, h.Parts, s.cfg.MinAnswers) {
				c.In[o] = append(c.In[o], lb.Ranked{Key: lb.Key(o, h.Parts, s.cfg.Weights), Member: h.Member()})
			}
		}
	}
	return c
}

// leave is the change by which they go.
func (s *shelf) leave(board lb.Board, held ...lb.Held) lb.Change {
	c := lb.Change{Board: board, Out: map[lb.Order][]string{}}
	for _, h := range held {
		c.Gone = append(c.Gone, h.ID)
		for _, o := range s.cfg.Rankings() {
			c.Out[o] = append(c.Out[o], h.Member())
		}
	}
	return c
}

// crowd are n entries, the better the later.
func crowd(n int) []lb.Held {
	var held []lb.Held
	for i := range n {
		held = append(held, lb.Held{ID: fmt.Sprintf("p%04d", i), Newest: int64(i + 1), Parts: right(int64(i))})
	}
	return held
}

func (s *shelf) view(span string) lb.View {
	return lb.View{Game: s.cfg.Game, Form: s.cfg.Form(), Board: lb.Board{Kind: lb.Players, Span: span}, Ranking: lb.ByScore}
}

func players(span string) lb.Board { return lb.Board{Kind: lb.Players, Span: span} }
