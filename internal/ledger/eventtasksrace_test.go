package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// Two nodes commit the same results and start the same days at the same time. Each event
// has its tasks once, and results are in the order of the ledger.
func TestTwoNodesMakeEachTaskOnce(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		const day, rounds, matches = 24 * 3600 * 1000, 4, 6
		l := openWithClock(t, db, time.UTC)
		second := openConfig(t, Config{URL: db.URL, Dir: db.Dir, clockSQL: testClock})
		l.entries.events, second.entries.events = endpoints{"a"}, endpoints{"a"}
		nodes := []*Ledger{l.Ledger, second}
		var mu sync.Mutex
		at := map[string]int64{} // of each match, its first position
		for round := range rounds {
			l.setClock(t, int64(round)*2*day)
			runConcurrently(8, func(i int) {
				node := nodes[i%2]
				if i < 2 {
					if _, err := node.Days.StartNewDays(t.Context(), game); err != nil {
						t.Error(err)
					}
					return
				}
				var batch []match.Result
				for _, m := range rand.Perm(matches) {
					batch = append(batch, duel(fmt.Sprintf("m%d-%d", round, m), 1, "p1", "p2"))
				}
				done, err := node.Results.Commit(t.Context(), batch)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for i, c := range done {
					if c.IsNew {
						at[batch[i].Match] = readEntries(t, node, batch[i]).first
					}
				}
			})
		}
		checkTaskOrder(t, l.Ledger, at, 2*(rounds-1))
	})
}

// checkTaskOrder checks that the queue of each endpoint has every match once, in the order
// of the ledger, and that the seal topic has one task for each of the first days.
func checkTaskOrder(t *testing.T, l *Ledger, at map[string]int64, days int) {
	t.Helper()
	byTopic := map[string][]string{}
	tasks, _, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range sortTasks(tasks) {
		byTopic[task.Topic] = append(byTopic[task.Topic], task.Key)
	}
	inLedger := slices.SortedFunc(maps.Keys(at), func(a, b string) int { return cmp.Compare(at[a], at[b]) })
	if got := byTopic["webhook/"+game+"/a"]; !slices.Equal(got, inLedger) {
		t.Errorf("tasks for %q, matches in the ledger %q", got, inLedger)
	}
	var ended []string
	for i := range days {
		ended = append(ended, time.UnixMilli(0).UTC().AddDate(0, 0, i).Format(time.DateOnly))
	}
	if got := byTopic["seal/"+game]; !slices.Equal(got, ended) {
		t.Errorf("tasks for days %q, want %q", got, ended)
	}
}

// Several nodes commit results of several games, with an endpoint that all games share. The
// commits do not deadlock with each other or with workers of their tasks.
func TestEventTasksDoNotDeadlock(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		if db.URL == "" { // SQLite has one writer
			return
		}
		t.Parallel()
		const committers, rounds, games = 6, 25, 3
		nodes := []*Ledger{openLedger(t, db), openLedger(t, db)}
		for i, node := range nodes { // each names the endpoints in another order
			node.entries.events = []Events{endpoints{"a", "all", "b"}, endpoints{"b", "all", "a"}}[i]
		}
		var left atomic.Int64
		left.Store(committers)
		runConcurrently(committers+4, func(i int) {
			node := nodes[i%2]
			if i >= committers {
				deliver(t, node, func() bool { return left.Load() == 0 || t.Failed() })
				return
			}
			defer left.Add(-1)
			for round := range rounds {
				var batch []match.Result
				for _, g := range rand.Perm(games) {
					r := duel(fmt.Sprintf("m%d-%d", i, round), 1, "p1", "p2")
					r.Game = fmt.Sprint("game", g)
					batch = append(batch, r)
				}
				if _, err := node.Results.Commit(t.Context(), batch[:1+rand.IntN(games)]); err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// deliver claims tasks until over returns true, and completes, fails or postpones each.
func deliver(t *testing.T, l *Ledger, over func() bool) {
	for !over() {
		tasks, err := l.Claims.Claim(t.Context(), "webhook", 10, lease)
		if err != nil {
			t.Error(err)
		}
		var done []taskqueue.Lease
		var failed []taskqueue.FailedAttempt
		for i, task := range tasks {
			if i%3 == 0 {
				done = append(done, task.Lease())
			} else {
				failed = append(failed, taskqueue.FailedAttempt{Lease: task.Lease(), Err: errors.New("why"), Postponed: i%3 == 1})
			}
		}
		_, doneErr := l.Claims.Complete(t.Context(), done)
		_, failedErr := l.Claims.Fail(t.Context(), failed)
		_, dueErr := l.Maintenance.ReturnDue(t.Context(), 100)
		if err := errors.Join(doneErr, failedErr, dueErr); err != nil {
			t.Error(err)
		}
	}
}
