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

func appliersOf(l Ledger, s Store, games ...Config) *Applier {
	return NewApplier(ApplierOptions{
		Games: games, Ledger: l, Store: s, Registry: prometheus.NewRegistry(),
		Now: func() int64 { return time.Now().UnixMilli() }, Log: slog.New(slog.DiscardHandler),
	})
}

// bench is an applier of one game with what it stands between.
type bench struct {
	*Applier
	book   *book
	memory *memory
	cfg    Config
}

func newBench() *bench {
	b := &bench{book: newBook(), memory: newMemory(), cfg: everyBoard()}
	b.Applier = appliersOf(b.book, b.memory, b.cfg)
	return b
}

func (b *bench) apply(t *testing.T) {
	t.Helper()
	if err := b.Apply(t.Context(), b.cfg.Game); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) state(t *testing.T) State {
	t.Helper()
	state, err := b.memory.Served(t.Context(), b.cfg.Game, b.cfg.Form())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// pieces works until there is nothing to do, and says how many pieces it was.
func (b *bench) pieces(t *testing.T) (n int) {
	t.Helper()
	for ; ; n++ {
		left, err := b.piece(t.Context(), b.cfg, nil)
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
		b := newBench()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		synctest.Wait()
		if at := b.state(t).Mark.Pos; at != 1 {
			t.Errorf("at the start applied to %d", at)
		}
		b.book.fail(errors.New("no database"))
		b.book.result(Players, "p", 1)
		time.Sleep(applyEvery + time.Millisecond)
		b.book.fail(nil)
		time.Sleep(applyEvery)
		synctest.Wait()
		if at := b.state(t).Mark.Pos; at != 2 {
			t.Errorf("after an outage applied to %d", at)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run ended with %v", err)
		}
	})
}

// A day that turns is prepared for by Run alone.
func TestRunTakesDaysOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		for range 12 {
			for i := range 130 {
				b.book.result(Players, string(rune('a'+i)), int64(i))
			}
			b.book.turns(1)
		}
		b.apply(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		state := b.state(t)
		for w, r := range state.Rolls {
			if r.due(state.Mark.Day, w.Days()) || r.Lo[r.Served] != addDays(state.Mark.Day, 1-w.Days()) {
				t.Errorf("after a minute %s is at %+v", w, r)
			}
		}
		if want := addDays(state.Mark.Day, -6); state.Oldest != want {
			t.Errorf("the oldest day kept is %s, not %s", state.Oldest, want)
		}
		cancel()
		<-ended
	})
}

func TestStepsAreBoundedAndChained(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.apply(t)
	state := b.state(t)
	for i := range 2*pageRows + 7 {
		b.book.result(Players, string(rune('a'+i)), int64(i))
	}
	rows, _, err := b.above(t.Context(), b.cfg.Game, state.Mark)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := plan(b.cfg, 1, state, rows, contents{})
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range steps {
		if n := writes(step); n == 0 || n > stepWrites {
			t.Errorf("step %d writes %d", i, n)
		}
		if i > 0 && step.Expect != steps[i-1].Stamp {
			t.Errorf("step %d does not follow the one before", i)
		}
	}
	b.apply(t)
	if at := b.state(t).Mark.Pos; at != 2*pageRows+8 {
		t.Errorf("applied to %d", at)
	}
}

// What a row costs does not depend on how long the windows are.
func TestWritesOfARowDoNotDependOnTheWindow(t *testing.T) {
	t.Parallel()
	var costs []int
	for _, w := range []Window{"2d", "30d", "400d"} {
		b := newBench()
		b.cfg.Windows = []Window{All, Day, w}
		b.Applier = appliersOf(b.book, b.memory, b.cfg)
		b.apply(t)
		b.book.result(Players, "p", 1)
		state := b.state(t)
		steps, err := plan(b.cfg, 1, state, b.book.rows[1:], contents{})
		if err != nil || len(steps) != 1 {
			t.Fatalf("%d steps, %v", len(steps), err)
		}
		costs = append(costs, writes(steps[0]))
	}
	if len(slices.Compact(costs)) != 1 {
		t.Errorf("a row costs %v writes in windows of 2, 30 and 400 days", costs)
	}
}

func TestWhatCannotBeAppliedStopsTheBoards(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]Row){
		"a gap":     func(r []Row) { r[4].Pos = 9 },
		"new kinds": func(r []Row) { r[4].Kind = "loan" },
	} {
		b := newBench()
		b.apply(t)
		for range 5 {
			b.book.result(Players, "p", 1)
		}
		spoil(b.book.rows)
		if err := b.Apply(t.Context(), b.cfg.Game); !errors.Is(err, ErrLedger) || b.state(t).Mark.Pos != 1 {
			t.Errorf("%s: %v, applied to %d", name, err, b.state(t).Mark.Pos)
		}
	}
}

func TestAnotherLedgerIsAnotherTruth(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.book.result(Players, "p", 1)
	for _, epoch := range []string{"e", "f"} {
		b.book.epoch = epoch
		b.apply(t)
		if mark := b.state(t).Mark; mark.Epoch != epoch || mark.Pos != 2 {
			t.Errorf("ledger %s: at %+v", epoch, mark)
		}
	}
}

// Boards that are behind are asked to be built once, not at every look, and
// those that were replaced leave at once.
func TestRunBuildsAndSweepsWhatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.apply(t)
		b.book.turns(20)
		b.apply(t)
		var calls []string
		b.memory.fail = func(method string) error {
			if method == "Begin" || method == "Publish" || method == "Sweep" {
				calls = append(calls, method)
			}
			return nil
		}
		for range 3 {
			if err := b.tend(t.Context(), b.cfg); err != nil {
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
			t.Errorf("the store was told to %v, want %v first", calls, want)
		}
	})
}

func TestApplyGivesUpAtLast(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.apply(t)
	b.book.result(Players, "p", 1)
	b.memory.fail = func(method string) error {
		if method == "Commit" {
			return ErrStale
		}
		return nil
	}
	if err := b.Apply(t.Context(), b.cfg.Game); !errors.Is(err, ErrContended) {
		t.Errorf("contended for ever: %v", err)
	}
	if err := b.Apply(t.Context(), "other"); err == nil {
		t.Error("another game was applied")
	}
}

// A node that waits for another's lease goes on when that one dies.
func TestALeaseEndsWithItsNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.apply(t)
		dead := applyDuty(b.cfg)
		if mine, err := b.memory.Lease(t.Context(), dead, "dead", leaseTTL); !mine || err != nil {
			t.Fatal(mine, err)
		}
		b.book.result(Players, "p", 1)
		done := make(chan error)
		go func() { done <- b.Apply(t.Context(), b.cfg.Game) }()
		time.Sleep(leaseTTL)
		if err := <-done; err != nil || b.state(t).Mark.Pos != 2 {
			t.Errorf("applied to %d: %v", b.state(t).Mark.Pos, err)
		}
	})
}
