package leaderboard

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/testenv"
)

func TestRunAppliesAtTheStartAndThenPeriodically(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newGameWithAllBoards()
		testenv.Run(t, fixture.Run)
		synctest.Wait()
		if pos := fixture.state(t).Watermark.Pos; pos != 1 {
			t.Errorf("at the start, rows up to %d are applied", pos)
		}
		fixture.ledger.setError(errors.New("no database"))
		fixture.ledger.addResult(Players, "p", 1)
		time.Sleep(applyInterval + time.Millisecond)
		fixture.ledger.setError(nil)
		time.Sleep(applyInterval)
		synctest.Wait()
		if pos := fixture.state(t).Watermark.Pos; pos != 2 {
			t.Errorf("after an outage, rows up to %d are applied", pos)
		}
	})
}

// Run evicts days without calls of Apply.
func TestRunEvictsDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newGameWithAllBoards()
		for range 12 {
			for i := range 130 {
				fixture.ledger.addResult(Players, string(rune('a'+i)), int64(i))
			}
			fixture.ledger.startDays(1)
		}
		fixture.apply(t)
		testenv.Run(t, fixture.Run)
		time.Sleep(time.Minute)
		synctest.Wait()
		state := fixture.state(t)
		for window, boards := range state.Rolling {
			if boards.mustEvict(state.Watermark.Day, window.Days()) || boards.FirstDays[boards.Served] != addDays(state.Watermark.Day, 1-window.Days()) {
				t.Errorf("after a minute %s is at %+v", window, boards)
			}
		}
		if want := addDays(state.Watermark.Day, -6); state.OldestDay != want {
			t.Errorf("the oldest day with boards is %s, not %s", state.OldestDay, want)
		}
	})
}

func TestTransactionsHaveALimitedSizeAndExpectThePreviousVersion(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.apply(t)
	state := fixture.state(t)
	for i := range 2*rowsPerRead + 7 {
		fixture.ledger.addResult(Players, string(rune('a'+i)), int64(i))
	}
	rows, _, err := fixture.boards.rowsAfter(t.Context(), state.Watermark, rowsPerRead)
	if err != nil {
		t.Fatal(err)
	}
	_, steps, err := plan(fixture.cfg, 1, state, rows, map[EntryKey]BoardEntry{})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		if n := countWrites(step); n == 0 || n > maxTransactionWrites {
			t.Errorf("transaction %d has %d writes", i, n)
		}
		if i > 0 && step.ExpectedVersion != steps[i-1].Version {
			t.Errorf("transaction %d does not expect the version of the previous transaction", i)
		}
	}
	fixture.apply(t)
	if pos := fixture.state(t).Watermark.Pos; pos != 2*rowsPerRead+8 {
		t.Errorf("rows up to %d are applied", pos)
	}
}

// The cost of a row does not depend on the length of the windows.
func TestWritesOfARowDoNotDependOnTheWindow(t *testing.T) {
	t.Parallel()
	var costs []int
	for _, window := range []Window{"2d", "30d", "400d"} {
		fixture := newGameWithAllBoards(All, Day, window)
		fixture.apply(t)
		fixture.ledger.addResult(Players, "p", 1)
		state := fixture.state(t)
		_, steps, err := plan(fixture.cfg, 1, state, fixture.ledger.rows[1:], map[EntryKey]BoardEntry{})
		if err != nil || len(steps) != 1 {
			t.Fatalf("%d transactions, %v", len(steps), err)
		}
		costs = append(costs, countWrites(steps[0]))
	}
	if len(slices.Compact(costs)) != 1 {
		t.Errorf("a row costs %v writes in windows of 2, 30 and 400 days", costs)
	}
}

// Concurrent callers share the work, and each sees the rows that it waits for.
func TestManyCallersOfApplyShareTwoPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newGameWithAllBoards()
		fixture.apply(t)
		passes := 0
		fixture.store.beforeCall = func(method string) error {
			if method == "ServedState" {
				time.Sleep(time.Second)
			}
			if method == "ReleaseLease" {
				passes++
			}
			return nil
		}
		var callers sync.WaitGroup
		for range 20 {
			row := fixture.ledger.addResult(Players, "p", 1)
			callers.Go(func() {
				if err := fixture.Apply(t.Context(), fixture.cfg.Game); err != nil {
					t.Error(err)
				}
				if state := fixture.store.stateAt(fixture.store.served, fixture.cfg.Game, fixture.cfg.Hash()); state.Watermark.Pos < row.Pos {
					t.Errorf("Apply returned at %d, before %d", state.Watermark.Pos, row.Pos)
				}
			})
			synctest.Wait() // the first pass has begun before the other calls
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := fixture.Apply(ctx, fixture.cfg.Game); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled caller got %v", err)
		}
		callers.Wait()
		if passes != 2 {
			t.Errorf("%d passes for 20 callers", passes)
		}
	})
}

func TestApplyRefusesUnknownOrMissingRows(t *testing.T) {
	t.Parallel()
	for name, corrupt := range map[string]func([]Row){
		"a gap":     func(rows []Row) { rows[4].Pos = 9 },
		"new kinds": func(rows []Row) { rows[4].Kind = "loan" },
	} {
		fixture := newGameWithAllBoards()
		fixture.apply(t)
		for range 5 {
			fixture.ledger.addResult(Players, "p", 1)
		}
		corrupt(fixture.ledger.rows)
		if err := fixture.Apply(t.Context(), fixture.cfg.Game); !errors.Is(err, ErrInvalidRows) || fixture.state(t).Watermark.Pos != 1 {
			t.Errorf("%s: %v, applied to %d", name, err, fixture.state(t).Watermark.Pos)
		}
	}
}

func TestApplyRebuildsBoardsForAnotherLedger(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.ledger.addResult(Players, "p", 1)
	for _, epoch := range []string{"e", "f"} {
		fixture.ledger.epoch = epoch
		fixture.apply(t)
		if watermark := fixture.state(t).Watermark; watermark.Epoch != epoch || watermark.Pos != 2 {
			t.Errorf("ledger %s: at %+v", epoch, watermark)
		}
	}
}

// Maintenance requests one build of boards that are behind by more than their window. Run
// builds the new boards and then removes the replaced ones.
func TestRunRebuildsAndSweepsOldBoards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newGameWithAllBoards()
		fixture.apply(t)
		fixture.ledger.startDays(20)
		fixture.apply(t)
		var calls []string
		fixture.store.beforeCall = func(method string) error {
			if method == "Begin" || method == "Publish" || method == "Sweep" {
				calls = append(calls, method)
			}
			return nil
		}
		for range 3 {
			if err := fixture.boards.maintainDays(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		stop := testenv.Run(t, fixture.Run)
		time.Sleep(time.Second)
		stop()
		want := []string{"Begin", "Publish", "Sweep"}
		if len(calls) < 3 || !slices.Equal(calls[:3], want) {
			t.Errorf("the first calls of the store are %v, want %v", calls, want)
		}
	})
}

func TestApplyGivesUpAfterManyTries(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.apply(t)
	fixture.ledger.addResult(Players, "p", 1)
	fixture.store.beforeCall = func(method string) error {
		if method == "Commit" {
			return ErrStale
		}
		return nil
	}
	if err := fixture.Apply(t.Context(), fixture.cfg.Game); !errors.Is(err, ErrContended) {
		t.Errorf("Apply returned %v instead of ErrContended", err)
	}
	if err := fixture.Apply(t.Context(), "other"); err == nil {
		t.Error("Apply accepted an unknown game")
	}
}

// A node that waits for the lease of a dead node continues when that lease expires.
func TestApplyContinuesWhenTheLeaseOfADeadNodeExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newGameWithAllBoards()
		fixture.apply(t)
		leaseID := fixture.boards.applyLease.id
		if hasLease, err := fixture.store.SetLease(t.Context(), leaseID, "dead", applyLeaseTTL); !hasLease || err != nil {
			t.Fatal(hasLease, err)
		}
		fixture.ledger.addResult(Players, "p", 1)
		applied := make(chan error)
		go func() { applied <- fixture.Apply(t.Context(), fixture.cfg.Game) }()
		time.Sleep(applyLeaseTTL)
		if err := <-applied; err != nil || fixture.state(t).Watermark.Pos != 2 {
			t.Errorf("applied to %d: %v", fixture.state(t).Watermark.Pos, err)
		}
	})
}
