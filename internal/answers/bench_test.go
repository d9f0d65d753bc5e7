package answers_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/answers"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

const (
	benchPlayers   = 10_000
	benchQuestions = 30
)

// BenchmarkTransfer moves the 300,000 answers of one match from Redis into the ledger, on
// SQLite and PostgreSQL. The goal is 10 s.
func BenchmarkTransfer(b *testing.B) {
	client := redis.NewClient(&redis.Options{Addr: testenv.Redis(b).Addr})
	b.Cleanup(func() { _ = client.Close() })
	for name, config := range map[string]func(b *testing.B) ledger.Config{
		"sqlite":   func(b *testing.B) ledger.Config { return ledger.Config{Dir: b.TempDir()} },
		"postgres": func(b *testing.B) ledger.Config { return ledger.Config{URL: testenv.Postgres(b).URL} },
	} {
		b.Run(name, func(b *testing.B) {
			c := config(b)
			c.Logger = slog.New(slog.DiscardHandler)
			l, err := ledger.Open(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			store := redismatch.New(client, client)
			var took time.Duration
			for i := range b.N {
				id := fmt.Sprintf("m_%s_%d_%d", name, b.N, i)
				addLargeMatch(b, client, store, l, id)
				began := time.Now()
				if err := (&node{Store: store, Ledger: l.Answers}).saveOnce(b.Context(), began.UnixMilli()); err != nil {
					b.Fatal(err)
				}
				took += time.Since(began)
				m, err := l.Answers.Match(b.Context(), testGame, id)
				n := 0
				if err == nil {
					err = l.Answers.EachPlayer(b.Context(), m, 0, m.Summary.Players, func(p answers.PlayerAnswers) error { n += len(p.Answers); return nil })
				}
				if err != nil || n != benchPlayers*benchQuestions {
					b.Fatalf("%d answers, %v", n, err)
				}
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/match")
		})
	}
}

// addLargeMatch adds a settled match to the ledger and to Redis, with the keys that the
// answers of its players leave there.
func addLargeMatch(b *testing.B, client *redis.Client, store *redismatch.Store, l *ledger.Ledger, id string) {
	b.Helper()
	plan := &match.Plan{Form: match.CurrentForm, ID: id, Game: testGame, Mode: match.Survival, Rules: match.Rules{LimitMS: 10_000}}
	for q := range benchQuestions {
		plan.Questions = append(plan.Questions, quiz.DrawnQuestion{Question: &quiz.Question{ID: fmt.Sprint("q", q), Kind: quiz.Single, Text: "Which?", Choices: []string{"A", "B"}, RightIndexes: []int{0}}})
	}
	result := match.Result{Match: id, Game: testGame, Mode: match.Survival, OverAt: 500_000, Reason: match.ReasonFinished, Questions: benchQuestions}
	state := match.State{Phase: match.PhaseSettled, Question: benchQuestions - 1}
	if _, err := store.Create(b.Context(), match.NewMatch{Plan: plan, State: state}); err != nil {
		b.Fatal(err)
	}
	prefix := client.Keys(b.Context(), "m:*:"+id).Val()[0]
	partition := strings.TrimSuffix(strings.TrimPrefix(prefix, "m:"), ":"+id)
	for i := range benchPlayers {
		player := fmt.Sprintf("p_01k%023d", i)
		result.Standings = append(result.Standings, match.Standing{Rank: i + 1, Player: player, Answered: benchQuestions, Asked: benchQuestions})
		var records []any
		for q := range benchQuestions {
			records = append(records, fmt.Sprintf("%d|%s", q, player), fmt.Sprintf(
				`{"player":"%s","question":%d,"normal":"c:1","correct":true,"at":%d,"elapsed_ms":%d,"points":150,"saved_ms":5000,"node":"n_01KAR8V3T9G4N6Q2X5Z7B0C1D2","first":false,"given":{"choice":1}}`,
				player, q, 1_795_000_000_000+int64(q*20_000+i), i))
		}
		_, err := client.Pipelined(b.Context(), func(pipe redis.Pipeliner) error {
			pipe.HSet(b.Context(), prefix+":answers", records...)
			pipe.HSet(b.Context(), prefix+":totals", player, fmt.Sprintf("4500 30 30 150000 30 %d", benchQuestions))
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if _, err := l.Results.Commit(b.Context(), []match.Result{result}); err != nil {
		b.Fatal(err)
	}
	if err := client.ZAdd(b.Context(), "unsaved:"+partition, redis.Z{Member: id}).Err(); err != nil {
		b.Fatal(err)
	}
}
