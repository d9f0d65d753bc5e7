package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rows is a ledger in memory.
type rows struct {
	mu   sync.Mutex
	rows []Row
	err  error
	name string
}

func (l *rows) Epoch() string { return "e" + l.name }

func (l *rows) Rows(_ context.Context, _ string, after int64, limit int) ([]Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := min(int(after), len(l.rows))
	return slices.Clone(l.rows[from:min(from+limit, len(l.rows))]), l.err
}

func (l *rows) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		pos := int64(len(l.rows) + 1)
		l.rows = append(l.rows, Row{
			Pos: pos, ID: fmt.Sprint("r", pos), Kind: ResultRow, Day: "2026-11-20",
			Player: fmt.Sprint("p", pos), Parts: Parts{Matches: 1, Asked: 30},
		})
	}
}

func (l *rows) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// oneCopy is a store of a single copy. Entries it forgets: these tests look at
// steps only.
type oneCopy struct {
	mu    sync.Mutex
	state State
	steps []Step
	swept []int64
	stale bool
}

func (s *oneCopy) Find(context.Context, string, string) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, nil
}

func (s *oneCopy) Begin(_ context.Context, fresh State, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = fresh
	return nil
}

func (s *oneCopy) Publish(context.Context, State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Served = true
	return nil
}

func (s *oneCopy) Sweep(_ context.Context, _, _ string, before int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept = append(s.swept, before)
	return nil
}

func (s *oneCopy) Held(_ context.Context, _ Generation, wants []Want) ([][]Held, error) {
	return make([][]Held, len(wants)), nil
}

func (s *oneCopy) Commit(_ context.Context, _ Generation, steps []Step) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale {
		return ErrStale
	}
	for _, step := range steps {
		if step.Expect != s.state.Stamp {
			return ErrStale
		}
		s.state.Stamp, s.state.Mark = step.Stamp, step.Mark
		s.steps = append(s.steps, step)
	}
	return nil
}

func (s *oneCopy) at() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Mark.Pos
}

func testApplier(l *rows, s *oneCopy) *Applier {
	return NewApplier(ApplierOptions{
		Games: []Config{valid()}, Ledger: l, Store: s,
		Now: func() int64 { return time.Now().UnixMilli() }, Log: slog.New(slog.DiscardHandler),
	})
}

func TestRunAppliesAtOnceThenEveryFewSecondsAndSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := &rows{}, &oneCopy{}
		l.add(3)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- testApplier(l, s).Run(ctx) }()
		synctest.Wait()
		if s.at() != 3 || len(s.swept) != 1 {
			t.Errorf("at the start applied to %d, swept %v", s.at(), s.swept)
		}
		l.fail(errors.New("no database"))
		l.add(1)
		time.Sleep(applyEvery + time.Millisecond)
		l.fail(nil)
		time.Sleep(applyEvery)
		synctest.Wait()
		if s.at() != 4 {
			t.Errorf("after an outage applied to %d", s.at())
		}
		time.Sleep(sweepEvery)
		synctest.Wait()
		if want := time.Now().Add(-staleAfter).UnixMilli(); len(s.swept) != 2 || s.swept[1] > want {
			t.Errorf("swept %v by now", s.swept)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run ended with %v", err)
		}
	})
}

func TestStepsAreBoundedAndChained(t *testing.T) {
	t.Parallel()
	l, s := &rows{}, &oneCopy{}
	l.add(2*pageRows + 7)
	if err := testApplier(l, s).Apply(t.Context(), "demo"); err != nil {
		t.Fatal(err)
	}
	if s.at() != 2*pageRows+7 {
		t.Fatalf("applied to %d", s.at())
	}
	for i, step := range s.steps {
		writes := 0
		for _, c := range step.Changes {
			writes += len(c.Put)
			for _, o := range Orders() {
				writes += len(c.Out[o]) + len(c.In[o])
			}
		}
		if writes == 0 || writes > stepWrites {
			t.Errorf("step %d writes %d", i, writes)
		}
		if i > 0 && step.Expect != s.steps[i-1].Stamp {
			t.Errorf("step %d does not follow the one before", i)
		}
	}
}

func TestWhatCannotBeAppliedStopsTheBoards(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func([]Row){
		"a gap":     func(r []Row) { r[4].Pos = 9 },
		"new kinds": func(r []Row) { r[4].Kind = "correction" },
	} {
		l, s := &rows{}, &oneCopy{}
		l.add(5)
		spoil(l.rows)
		if err := testApplier(l, s).Apply(t.Context(), "demo"); !errors.Is(err, ErrLedger) || s.at() != 0 {
			t.Errorf("%s: %v, applied to %d", name, err, s.at())
		}
	}
}

func TestAnotherLedgerIsAnotherTruth(t *testing.T) {
	t.Parallel()
	l, s := &rows{}, &oneCopy{}
	l.add(5)
	a := testApplier(l, s)
	for _, name := range []string{"", "'"} {
		l.name = name
		if err := a.Apply(t.Context(), "demo"); err != nil {
			t.Fatal(err)
		}
		if s.state.Mark.Epoch != "e"+name || s.at() != 5 {
			t.Errorf("ledger e%s: at %+v", name, s.state.Mark)
		}
	}
	if got := len(s.steps); got != 2 {
		t.Errorf("%d steps for two ledgers", got)
	}
}

func TestApplyGivesUpAtLast(t *testing.T) {
	t.Parallel()
	l, s := &rows{}, &oneCopy{stale: true}
	l.add(1)
	a := testApplier(l, s)
	if err := a.Apply(t.Context(), "demo"); !errors.Is(err, ErrContended) {
		t.Errorf("contended for ever: %v", err)
	}
	if err := a.Apply(t.Context(), "other"); err == nil {
		t.Error("another game was applied")
	}
}
