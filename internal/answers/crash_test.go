package answers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"laststand/internal/answers"
	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const testGame = "com.example.quiz"

var errKilled = errors.New("the node was killed")

// node is a node that is killed at some call of its stores: before the call has an effect,
// or after it.
type node struct {
	answers.Store
	answers.Ledger

	callsLeft int
	after     bool
	isKilled  bool
}

func (n *node) call(work func() error) error {
	n.callsLeft--
	n.isKilled = n.isKilled || n.callsLeft == 0
	if n.isKilled && (!n.after || n.callsLeft < 0) {
		return errKilled
	}
	if err := work(); err != nil {
		return err
	}
	if n.isKilled {
		return errKilled
	}
	return nil
}

func (n *node) ClaimAnswers(ctx context.Context, now, until int64, limit int) (ids []string, waiting int64, err error) {
	err = n.call(func() error { ids, waiting, err = n.Store.ClaimAnswers(ctx, now, until, limit); return err })
	return ids, waiting, err
}

func (n *node) ReleaseAnswers(ctx context.Context, id string) error {
	return n.call(func() error { return n.Store.ReleaseAnswers(ctx, id) })
}

func (n *node) RecordsOf(ctx context.Context, id string, players []string, questions int) (records []match.Record, unreadable int, err error) {
	err = n.call(func() error {
		records, unreadable, err = n.Store.RecordsOf(ctx, id, players, questions)
		return err
	})
	return records, unreadable, err
}

func (n *node) SaveBlocks(ctx context.Context, blocks []answers.Block) error {
	return n.call(func() error { return n.Ledger.SaveBlocks(ctx, blocks) })
}

// saveOnce lets a node look for answers once, at a time.
func (n *node) saveOnce(ctx context.Context, now int64) error {
	saver := answers.NewSaver(answers.Config{
		Store: n, Ledger: n, IsUnavailable: func(err error) bool {
			return errors.Is(err, errKilled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
		}, Now: func() int64 { return now },
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})
	return saver.SaveWaiting(ctx)
}

// A node is killed at each call of the stores, before and after the call has an effect.
// Another node continues, and the ledger has every answer once.
func TestAnswersArriveOnceWhereverANodeIsKilled(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: testenv.Redis(t).Addr})
	t.Cleanup(func() { _ = client.Close() })
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		l := testenv.Need(ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: slog.New(slog.DiscardHandler)}))(t)
		defer l.Close()
		for _, id := range []string{"p_ada", "p_bob"} {
			if _, _, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: testGame, ID: id, Nickname: id, Skeleton: id, JoinedAt: 1}); err != nil {
				t.Fatal(err)
			}
		}
		store, now, kills := redismatch.New(client, client), int64(0), 0
		for isKilled, calls := true, 1; isKilled; calls++ {
			for _, after := range []bool{false, true} {
				id := fmt.Sprintf("m_%t_%d_%t", db.URL == "", calls, after)
				want := settleDuel(t, store, l, id)
				now += 1_000_000
				victim := &node{Store: store, Ledger: l.Answers, callsLeft: calls, after: after}
				err := victim.saveOnce(t.Context(), now)
				if isKilled = victim.isKilled; isKilled != errors.Is(err, errKilled) {
					t.Fatalf("killed %v, %v", isKilled, err)
				}
				if isKilled {
					kills++
				}
				now += 1_000_000
				testenv.NoError(t, (&node{Store: store, Ledger: l.Answers}).saveOnce(t.Context(), now))
				checkStored(t, l, id, want)
			}
		}
		if _, waiting, err := store.ClaimAnswers(t.Context(), now*2, now*2, 1); err != nil || waiting != 0 || kills < 8 {
			t.Errorf("%d matches wait, %d kills, %v", waiting, kills, err)
		}
	})
}

func checkStored(t *testing.T, l *ledger.Ledger, id string, want []answers.Answer) {
	t.Helper()
	m, err := l.Answers.Match(t.Context(), testGame, id)
	if err != nil {
		t.Fatalf("match %s: %v", id, err)
	}
	var got []answers.Answer
	err = l.Answers.EachPlayer(t.Context(), m, 0, m.Summary.Players, func(p answers.PlayerAnswers) error {
		got = append(got, p.Answers...)
		return nil
	})
	if err != nil || !reflect.DeepEqual(got, want) || len(m.Questions) != 2 || m.Questions[1].Text != "Which 1?" {
		t.Errorf("match %s: %+v, %v\nwant %+v", id, got, err, want)
	}
}

// settleDuel plays and settles a duel of two questions, and returns its answers.
func settleDuel(t *testing.T, store *redismatch.Store, l *ledger.Ledger, id string) (want []answers.Answer) {
	t.Helper()
	plan := &match.Plan{Form: match.CurrentForm, ID: id, Game: testGame, Mode: match.Duel, Rules: match.Rules{LimitMS: 10_000}, Seats: []match.Seat{{Player: "p_ada"}, {Player: "p_bob"}}}
	result := match.Result{Match: id, Game: testGame, Mode: match.Duel, OverAt: 500_000, Reason: match.ReasonFinished, Questions: 2}
	for q := range 2 {
		plan.Questions = append(plan.Questions, quiz.DrawnQuestion{Question: &quiz.Question{ID: fmt.Sprint("q", q), Kind: quiz.Single, Text: fmt.Sprintf("Which %d?", q), Choices: []string{"B", "A"}, RightIndexes: []int{0}}})
	}
	state := match.State{Phase: match.PhaseCountdown, Question: -1, LastDecided: -1, Players: 2, Alive: 2}
	testenv.Need(store.Create(t.Context(), match.NewMatch{Plan: plan, State: state}))(t)
	step := func(phase match.Phase, question int, result *match.Result) {
		next := state
		next.Phase, next.Question, next.OpensAt, next.ClosesAt, next.Alive = phase, question, int64(100_000*(question+1)), int64(100_000*(question+1)+10_000), 2
		s := match.Step{Match: id, ID: fmt.Sprint(phase, question), From: state, NewState: next, Result: result}
		if result != nil {
			s.TTLMS = 360_000
		}
		if done, err := store.Step(t.Context(), s); err != nil || !done.Applied {
			t.Fatalf("step to %s: %+v, %v", phase, done, err)
		}
		state = next
	}
	for q := range 2 {
		step(match.PhaseOpen, q, nil)
		for i, seat := range plan.Seats {
			r := match.Record{Player: seat.Player, Question: q, Given: json.RawMessage(fmt.Sprintf(`{"choice":%d}`, i)), Correct: i == 0, ArrivedAt: state.OpensAt + 700, ElapsedMS: 700, Points: int64(190 * (1 - i))}
			attempt := match.Attempt{Match: id, ID: fmt.Sprint(q, i), OpensAt: state.OpensAt, Record: r, Seat: seat, Mode: match.Duel}
			answer := &match.StepAnswer{Attempt: attempt, Totals: match.Totals{LastAnswered: q + 1}}
			done, err := store.Step(t.Context(), match.Step{Match: id, ID: attempt.ID, From: state, NewState: state, Mode: match.Duel, Answer: answer})
			if err != nil || !done.Applied {
				t.Fatalf("answer: %+v, %v", done, err)
			}
		}
		step(match.PhaseRevealed, q, nil)
	}
	for i, seat := range plan.Seats {
		result.Standings = append(result.Standings, match.Standing{Rank: i + 1, Player: seat.Player, Score: int64(380 * (1 - i)), Answered: 2, Asked: 2})
		for q := range 2 {
			want = append(want, answers.Answer{Player: i, Question: q, Given: &protocol.Given{Choice: &i}, Correct: i == 0, ElapsedMS: 700, Points: int64(190 * (1 - i)), ArrivedAt: int64(100_000*(q+1) + 700)})
		}
	}
	step(match.PhaseOver, 1, &result)
	testenv.Need(l.Results.Commit(t.Context(), []match.Result{result}))(t)
	testenv.NoError(t, store.MarkSettled(t.Context(), []match.Result{result}))
	return want
}
