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
type player struct {
	id     string
	engine *match.Engine
	choice int

	mu      sync.Mutex
	frames  [][]byte
	playing sync.WaitGroup
	over    chan struct{} // closed with match.over
}

func (pl *player) DiscardUnsent(string) {}

func (pl *player) CanAttach(string) bool { return true }

func (pl *player) Push(id string, frames ...[]byte) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.frames = append(pl.frames, frames...)
	for _, raw := range frames {
		pl.receive(id, raw)
	}
}

func (pl *player) receive(id string, raw []byte) {
	var f struct {
		Type string
		Data struct{ Question int }
	}
	if json.Unmarshal(raw, &f) != nil {
		return
	}
	switch f.Type {
	case protocol.TypeQuestion:
		pl.playing.Go(func() {
			a := protocol.Answer{Match: id, Question: &f.Data.Question, Given: protocol.Given{Choice: &pl.choice}}
			_, then, _ := pl.engine.Answer(context.Background(), match.Submission{Player: pl.id, ArrivedAt: time.Now().UnixMilli(), Answer: a})
			then()
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
		store := New(client, scripts(t, client))
		plan := newPlan()
		plan.StartsAt, plan.LimitMS, plan.RevealMS = time.Now().UnixMilli(), 2000, 10
		results := make(chan *match.Result, 2)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		players := []*player{{id: "p_ada", choice: 1}, {id: "p_bob", choice: 0}}
		for _, pl := range players {
			pl.over = make(chan struct{})
			presence := new(match.Presence)
			presence.Enter("demo", pl.id, pl)
			wheel := timer.New(timer.Config{Workers: 4})
			pl.engine = match.New(match.Config{
				Store: store, Index: store, Wheel: wheel, Presence: presence,
				Now:      func() int64 { return time.Now().UnixMilli() },
				OnResult: func(r *match.Result) { results <- r },
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
			pl.playing.Wait()
		}
		stop()
		running.Wait()
		r := <-results
		if r.Winner != "p_ada" || r.Standings[0].Correct != 3 || r.Standings[1].Answered != 3 || len(results) != 0 {
			t.Errorf("%+v", r)
		}
		checkSame(t, store, plan, players)
		m := &testMatch{T: t, Store: store, plan: plan}
		m.cleanUp(context.WithoutCancel(t.Context()))
	})
}

func checkSame(t *testing.T, store *Store, plan *match.Plan, players []*player) {
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
