package redismatch

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/internal/timer"
)

// autoPlayer is a session that answers each question as soon as it opens.
type autoPlayer struct {
	id     string
	engine *match.Engine
	choice int

	mu        sync.Mutex
	frames    [][]byte
	answering sync.WaitGroup
	over      chan struct{} // closed with match.over
}

func (pl *autoPlayer) DiscardUnsent(string) {}

func (pl *autoPlayer) CanAttach(string) bool { return true }

func (pl *autoPlayer) DuelChanged(bool) {}

func (pl *autoPlayer) Push(id string, frames ...[]byte) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.frames = append(pl.frames, frames...)
	for _, raw := range frames {
		pl.receive(id, raw)
	}
}

func (pl *autoPlayer) receive(id string, raw []byte) {
	var received struct {
		Type string
		Data struct{ Question int }
	}
	if json.Unmarshal(raw, &received) != nil {
		return
	}
	switch received.Type {
	case protocol.TypeQuestion:
		pl.answering.Go(func() {
			answer := protocol.Answer{Match: id, Question: &received.Data.Question, Given: protocol.Given{Choice: &pl.choice}}
			_, afterReply, _ := pl.engine.Answer(context.Background(), match.Submission{Player: pl.id, ArrivedAt: time.Now().UnixMilli(), Answer: answer})
			afterReply()
		})
	case protocol.TypeMatchOver:
		close(pl.over)
	}
}

// Two nodes with one Redis play a duel, each with one player. Both players get
// the same frames, and the result agrees with their answers.
func TestTwoNodesPlayADuel(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		store := New(client, newScripter(t, client))
		plan := newPlan()
		plan.StartsAt, plan.LimitMS, plan.RevealMS = time.Now().UnixMilli(), 2000, 10
		results := make(chan *match.Result, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		players := []*autoPlayer{{id: "p_ada", choice: 1}, {id: "p_bob", choice: 0}}
		for _, pl := range players {
			pl.over = make(chan struct{})
			presence := new(match.Presence)
			presence.Enter("demo", pl.id, pl)
			wheel := timer.New(timer.Config{Workers: 4})
			pl.engine = match.New(match.Config{
				Matches: store.Matches, Answers: store.Answers, Places: store.Places, Index: store.Index, Results: store.Results, Wheel: wheel, Presence: presence,
				Now:      func() int64 { return time.Now().UnixMilli() },
				OnResult: func(result *match.Result) { results <- result },
				Logger:   slog.New(slog.DiscardHandler),
			})
			running.Go(func() { _ = pl.engine.Run(ctx) })
			t.Cleanup(wheel.Close)
			if err := pl.engine.StartDuel(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
		}
		for _, pl := range players {
			<-pl.over
			pl.answering.Wait()
		}
		cancel()
		running.Wait()
		result := <-results
		if result.Winner != "p_ada" || result.Standings[0].Correct != 3 || result.Standings[1].Answered != 3 || len(results) != 0 {
			t.Errorf("%+v", result)
		}
		checkAllGotLog(t, store, plan, players)
		m := &testMatch{T: t, Store: store, plan: plan}
		m.cleanUp(context.WithoutCancel(t.Context()))
	})
}

func checkAllGotLog(t *testing.T, store *Store, plan *match.Plan, players []*autoPlayer) {
	t.Helper()
	view, err := store.Read(t.Context(), match.ReadQuery{Match: plan.ID})
	if err != nil || len(view.Frames) != 2+3*4 {
		t.Fatalf("%d frames, %v", len(view.Frames), err)
	}
	for _, pl := range players {
		if len(pl.frames) != len(view.Frames) {
			t.Fatalf("%s has %d frames of %d", pl.id, len(pl.frames), len(view.Frames))
		}
		for i := range view.Frames {
			if string(pl.frames[i]) != string(view.Frames[i]) {
				t.Errorf("%s: frame %d is %s, in the log %s", pl.id, i+1, pl.frames[i], view.Frames[i])
			}
		}
	}
}
