package leaderboard

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func newTestApplier(l Ledger, s Store, games ...Config) *Applier {
	return NewApplier(ApplierOptions{
		Games: games, Ledger: l, Store: s, Registry: prometheus.NewRegistry(),
		Now: func() int64 { return time.Now().UnixMilli() }, Log: slog.New(slog.DiscardHandler),
	})
}

// applierFixture is an applier of one game, with its fake ledger and its store in memory.
type applierFixture struct {
	*Applier
	ledger *fakeLedger
	store  *memoryStore
	cfg    Config
}

func newApplierFixture() *applierFixture {
	b := &applierFixture{ledger: newFakeLedger(), store: newMemoryStore(), cfg: allBoardsConfig()}
	b.Applier = newTestApplier(b.ledger, b.store, b.cfg)
	return b
}

func (b *applierFixture) apply(t *testing.T) {
	t.Helper()
	if err := b.Apply(t.Context(), b.cfg.Game); err != nil {
		t.Fatal(err)
	}
}

func (b *applierFixture) state(t *testing.T) State {
	t.Helper()
	state, err := b.store.ServedState(t.Context(), b.cfg.Game, b.cfg.Hash())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// maintainAll runs maintenance until there is nothing to do, and returns the number of
// transactions.
func (b *applierFixture) maintainAll(t *testing.T) (n int) {
	t.Helper()
	for ; ; n++ {
		left, err := b.maintainOnce(t.Context(), b.cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if left == nil {
			return n
		}
	}
}

func TestRunAppliesAtOnceThenEveryFewSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newApplierFixture()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		synctest.Wait()
		if at := b.state(t).Mark.Pos; at != 1 {
			t.Errorf("at the start, rows up to %d are applied", at)
		}
		b.ledger.setError(errors.New("no database"))
		b.ledger.addResult(Players, "p", 1)
		time.Sleep(applyInterval + time.Millisecond)
		b.ledger.setError(nil)
		time.Sleep(applyInterval)
		synctest.Wait()
		if at := b.state(t).Mark.Pos; at != 2 {
			t.Errorf("after an outage, rows up to %d are applied", at)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run ended with %v", err)
		}
	})
}

// Run evicts days without calls of Apply.
func TestRunEvictsDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newApplierFixture()
		for range 12 {
			for i := range 130 {
				b.ledger.addResult(Players, string(rune('a'+i)), int64(i))
			}
			b.ledger.startDays(1)
		}
		b.apply(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		state := b.state(t)
		for w, r := range state.Rolling {
			if r.mustEvict(state.Mark.Day, w.Days()) || r.FirstDay[r.Served] != addDays(state.Mark.Day, 1-w.Days()) {
				t.Errorf("after a minute %s is at %+v", w, r)
			}
		}
		if want := addDays(state.Mark.Day, -6); state.Oldest != want {
			t.Errorf("the oldest day with boards is %s, not %s", state.Oldest, want)
		}
		cancel()
		<-ended
	})
}

func TestStepsAreBoundedAndChained(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.apply(t)
	state := b.state(t)
	for i := range 2*pageRows + 7 {
		b.ledger.addResult(Players, string(rune('a'+i)), int64(i))
	}
	rows, _, err := b.rowsAfter(t.Context(), b.cfg.Game, state.Mark)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := plan(b.cfg, 1, state, rows, contents{})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		if n := countWrites(step); n == 0 || n > stepWrites {
			t.Errorf("transaction %d has %d writes", i, n)
		}
		if i > 0 && step.ExpectedVersion != steps[i-1].Version {
			t.Errorf("transaction %d does not expect the version of the one before", i)
		}
	}
	b.apply(t)
	if at := b.state(t).Mark.Pos; at != 2*pageRows+8 {
		t.Errorf("applied to %d", at)
	}
}

// The cost of a row does not depend on the length of the windows.
func TestWritesOfARowDoNotDependOnTheWindow(t *testing.T) {
	t.Parallel()
	var costs []int
	for _, w := range []Window{"2d", "30d", "400d"} {
		b := newApplierFixture()
		b.cfg.Windows = []Window{All, Day, w}
		b.Applier = newTestApplier(b.ledger, b.store, b.cfg)
		b.apply(t)
		b.ledger.addResult(Players, "p", 1)
		state := b.state(t)
		steps, err := plan(b.cfg, 1, state, b.ledger.rows[1:], contents{})
		if err != nil || len(steps) != 1 {
			t.Fatalf("%d transactions, %v", len(steps), err)
		}
		costs = append(costs, countWrites(steps[0]))
	}
	if len(slices.Compact(costs)) != 1 {
		t.Errorf("a row costs %v writes in windows of 2, 30 and 400 days", costs)
	}
}

func TestUnknownOrMissingRowsStopTheBoards(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]Row){
		"a gap":     func(r []Row) { r[4].Pos = 9 },
		"new kinds": func(r []Row) { r[4].Kind = "loan" },
	} {
		b := newApplierFixture()
		b.apply(t)
		for range 5 {
			b.ledger.addResult(Players, "p", 1)
		}
		spoil(b.ledger.rows)
		if err := b.Apply(t.Context(), b.cfg.Game); !errors.Is(err, ErrLedger) || b.state(t).Mark.Pos != 1 {
			t.Errorf("%s: %v, applied to %d", name, err, b.state(t).Mark.Pos)
		}
	}
}

func TestAnotherLedgerNeedsNewBoards(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.ledger.addResult(Players, "p", 1)
	for _, epoch := range []string{"e", "f"} {
		b.ledger.epoch = epoch
		b.apply(t)
		if mark := b.state(t).Mark; mark.Epoch != epoch || mark.Pos != 2 {
			t.Errorf("ledger %s: at %+v", epoch, mark)
		}
	}
}

// A build of boards that are behind is requested once, and replaced boards are
// removed immediately.
func TestRunRebuildsAndSweepsOldBoards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newApplierFixture()
		b.apply(t)
		b.ledger.startDays(20)
		b.apply(t)
		var calls []string
		b.store.beforeCall = func(method string) error {
			if method == "Begin" || method == "Publish" || method == "Sweep" {
				calls = append(calls, method)
			}
			return nil
		}
		for range 3 {
			if err := b.maintain(t.Context(), b.cfg); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		time.Sleep(time.Second)
		cancel()
		<-ended
		want := []string{"Begin", "Publish", "Sweep"}
		if len(calls) < 3 || !slices.Equal(calls[:3], want) {
			t.Errorf("the first calls of the store are %v, want %v", calls, want)
		}
	})
}

func TestApplyGivesUpAfterManyTries(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.apply(t)
	b.ledger.addResult(Players, "p", 1)
	b.store.beforeCall = func(method string) error {
		if method == "Commit" {
			return ErrStale
		}
		return nil
	}
	if err := b.Apply(t.Context(), b.cfg.Game); !errors.Is(err, ErrContended) {
		t.Errorf("Apply returned %v instead of ErrContended", err)
	}
	if err := b.Apply(t.Context(), "other"); err == nil {
		t.Error("Apply accepted an unknown game")
	}
}

// A node that waits for the lease of a dead node continues when it expires.
func TestALeaseEndsWithItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newApplierFixture()
		b.apply(t)
		dead := applyDuty(b.cfg)
		if mine, err := b.store.AcquireLease(t.Context(), dead, "dead", leaseTTL); !mine || err != nil {
			t.Fatal(mine, err)
		}
		b.ledger.addResult(Players, "p", 1)
		done := make(chan error)
		go func() { done <- b.Apply(t.Context(), b.cfg.Game) }()
		time.Sleep(leaseTTL)
		if err := <-done; err != nil || b.state(t).Mark.Pos != 2 {
			t.Errorf("applied to %d: %v", b.state(t).Mark.Pos, err)
		}
	})
}
