package redismatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

// BenchmarkFirsts measures how long it takes to decide who of a hundred players
// was first, if all are right at the same time, without sockets. It compares
// the engine with a plain WATCH, GET, MULTI, DECR, EXEC for every answer. One
// operation is one question. Each answer counts as one decision in decisions/s.
func BenchmarkFirsts(b *testing.B) {
	conn, err := redisx.Open(b.Context(), redisx.Config{URL: testenv.Redis(b).URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	b.Run("store", func(b *testing.B) {
		r := newRaceBenchmark(b, New(conn.Client, conn.Pipelined))
		answerQuestions(b, r.open, r.answer)
	})
	b.Run("plain WATCH", func(b *testing.B) {
		key := ""
		open := func(question int) {
			key = fmt.Sprintf("first:%s:%d", ulid.Make(), question)
			if err := conn.Client.Set(b.Context(), key, 1, time.Minute).Err(); err != nil {
				b.Fatal(err)
			}
		}
		answerQuestions(b, open, func(ctx context.Context, _ string) error { return plainTransaction(ctx, conn.Client, key) })
	})
}

// answerQuestions opens one question after the other, and all players answer each at
// the same time.
func answerQuestions(b *testing.B, open func(question int), answer func(ctx context.Context, player string) error) {
	players := playerIDs(100)
	question := 0
	for b.Loop() {
		b.StopTimer()
		open(question)
		b.StartTimer()
		var running sync.WaitGroup
		for _, player := range players {
			running.Go(func() {
				if err := answer(b.Context(), player); err != nil {
					b.Error(err)
				}
			})
		}
		running.Wait()
		question++
	}
	b.ReportMetric(float64(len(players)*question)/b.Elapsed().Seconds(), "decisions/s")
}

func plainTransaction(ctx context.Context, client redis.UniversalClient, key string) error {
	for {
		err := client.Watch(ctx, func(tx *redis.Tx) error {
			if n, err := tx.Get(ctx, key).Int(); err != nil || n < 1 {
				return err
			}
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Decr(ctx, key).Err() })
			return err
		}, key)
		if !errors.Is(err, redis.TxFailedErr) {
			return err
		}
	}
}

// raceBenchmark simulates one node: one right answer at a time tries to be first. No
// answer tries after the question is known to be won.
type raceBenchmark struct {
	*Store
	b          *testing.B
	plan       *match.Plan
	state      match.State
	committing sync.Mutex
	won        atomic.Bool
	firsts     atomic.Int64
}

func newRaceBenchmark(b *testing.B, store *Store) *raceBenchmark {
	r := &raceBenchmark{Store: store, b: b, plan: arenaPlan(match.Buzzer), state: lobbyState()}
	if _, err := r.Create(b.Context(), match.NewMatch{Plan: r.plan, State: r.state}); err != nil {
		b.Fatal(err)
	}
	for _, player := range playerIDs(100) {
		reply, err := r.AddSeat(b.Context(), arena.SeatRequest{Match: r.plan.ID, Seat: match.Seat{Player: player}, MaxSeats: 100})
		if err != nil || reply.Verdict != arena.VerdictIn {
			b.Fatal(reply, err)
		}
	}
	return r
}

// open opens a question. The previous one must have been won exactly once.
func (r *raceBenchmark) open(question int) {
	if got := r.firsts.Swap(0); got != int64(min(question, 1)) {
		r.b.Fatalf("question %d had %d firsts", question-1, got)
	}
	from, to := r.state, r.state
	if question > 0 {
		from.Phase = match.PhaseSealed
	}
	to.Phase, to.Question = match.PhaseOpen, question
	to.OpensAt, to.ClosesAt, to.DueAt = epoch, epoch+10_000, epoch+10_150
	done, err := r.Step(r.b.Context(), match.Step{
		Match: r.plan.ID, ID: ulid.Make().String(), From: from, NewState: to, Mode: match.Buzzer,
	})
	if err != nil || !done.Applied {
		r.b.Fatal(done, err)
	}
	r.state = to
	r.won.Store(false)
}

func (r *raceBenchmark) answer(ctx context.Context, player string) error {
	if outcome, committed, err := r.commitUnlessWon(ctx, player); err != nil || committed {
		if outcome.Verdict == match.VerdictAccepted {
			r.firsts.Add(1)
		}
		return err
	}
	_, _, err := r.Record(ctx, r.plan.ID, player, r.state.Question)
	return err
}

func (r *raceBenchmark) commitUnlessWon(ctx context.Context, player string) (outcome match.Outcome, committed bool, err error) {
	r.committing.Lock()
	defer r.committing.Unlock()
	if r.won.Load() {
		return outcome, false, nil
	}
	outcome, err = r.CommitIfFirst(ctx, match.Attempt{
		Match: r.plan.ID, ID: ulid.Make().String(), OpensAt: r.state.OpensAt, Mode: match.Buzzer,
		Seat:   match.Seat{Player: player},
		Record: match.Record{Player: player, Question: r.state.Question, Given: []byte(`{"value":"right"}`), Normalized: "t:right", Correct: true, ArrivedAt: epoch, Points: 100},
	})
	r.won.Store(err == nil && (outcome.Verdict == match.VerdictAccepted || outcome.Verdict == match.VerdictLate))
	return outcome, true, err
}
