package ledger

import (
	"flag"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "50") // each of them is a history, on two databases; the command line may say more
	testenv.Main(m)
}

const game = "com.example.quiz"

// eachLedger runs a parallel test on an empty ledger in each database.
func eachLedger(t *testing.T, test func(t *testing.T, l *Ledger)) {
	t.Helper()
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) { test(t, openLedger(t, db)) })
}

// openLedger opens the ledger of a test database, and closes it when the test ends.
func openLedger(t testing.TB, db testenv.SQL) *Ledger {
	t.Helper()
	return openConfig(t, Config{URL: db.URL, Dir: db.Dir})
}

func openConfig(t testing.TB, c Config) *Ledger {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	l := testenv.Need(Open(t.Context(), c))(t)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// duel is a counting result of two players.
func duel(id string, overAt int64, players ...string) match.Result {
	r := match.Result{
		Match: id, Game: game, Mode: match.Duel, StartedAt: overAt - 60_000, OverAt: overAt,
		Reason: match.ReasonFinished, Questions: 10, CountsForLeaderboards: true, Winner: players[0],
	}
	for i, p := range players {
		n := len(players) - i
		r.Standings = append(r.Standings, match.Standing{
			Rank: i + 1, Player: p, Nickname: "Nick " + p, Score: int64(150 * n), Correct: n, Answered: n + 1,
			Asked: 10, TimeMS: int64(100_000 - n), LimitMS: 150_000,
		})
	}
	return r
}

func addPlayer(t testing.TB, l *Ledger, id string) {
	t.Helper()
	_, _, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: id, Nickname: "Nick " + id, Skeleton: "nick" + id, JoinedAt: 7})
	if err != nil {
		t.Fatal(err)
	}
}

// runConcurrently calls f(0) … f(n-1) concurrently and waits until all have returned.
func runConcurrently(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func names(prefix string, n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%03d", prefix, i))
	}
	return all
}

// readHead returns the watermark of a view that has applied all entries of the game.
func readHead(t testing.TB, l *Ledger) leaderboard.Watermark {
	t.Helper()
	var mark leaderboard.Watermark
	testenv.Need(0, l.inSnapshot(t.Context(), func(tx *transaction) error {
		mark, _ = readHeadMark(t.Context(), tx, game)
		return nil
	}))(t)
	return mark
}

func results(r ...match.Result) []match.Result { return r }

// waitUntil waits until a condition is true.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the condition did not become true")
		}
	}
}
