package timer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/timer"
)

const maxBatch = 10

// item is the item of a batcher in these tests.
type item struct {
	name string
	done bool
}

// gate has the Run function of a batcher. Each call waits until the test lets it continue.
type gate struct {
	*timer.Batcher[*item]
	*testing.T
	open  chan struct{}
	fault func(batch []string) error

	mu      sync.Mutex
	batches [][]string // the names in each call that has continued
}

var errBad = errors.New("refused")

func runGated(t *testing.T, f func(g *gate)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{T: t, open: make(chan struct{}), fault: func([]string) error { return nil }}
		g.Batcher = &timer.Batcher[*item]{
			Run: g.run, MaxBatch: maxBatch, Workers: 1, Timeout: 5 * time.Second,
			CanSplit: func(err error) bool { return !errors.Is(err, context.DeadlineExceeded) },
		}
		f(g)
		g.Close()
	})
}

func (g *gate) run(ctx context.Context, batch []*item) error {
	select {
	case <-g.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	var names []string
	for _, item := range batch {
		names = append(names, item.name)
	}
	g.mu.Lock()
	g.batches = append(g.batches, names)
	g.mu.Unlock()
	err := g.fault(names)
	for _, item := range batch {
		item.done = err == nil
	}
	return err
}

// doAll calls Do for items one after another. The first finds the worker free. It returns
// a channel with the outcome of each.
func (g *gate) doAll(ctx context.Context, names ...string) (outcomes []chan error) {
	for _, name := range names {
		outcome := make(chan error, 1)
		go func() { // ends with the bubble
			added := &item{name: name}
			err := g.Do(ctx, added)
			if err == nil && !added.done {
				g.Errorf("%s: no error, but the item is not done", name)
			}
			outcome <- err
		}()
		synctest.Wait()
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

func (g *gate) wantBatches(want ...[]string) {
	g.Helper()
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.EqualFunc(g.batches, want, slices.Equal) {
		g.Errorf("batches %v, want %v", g.batches, want)
	}
}

func TestWaitingItemsShareABatch(t *testing.T) {
	runGated(t, func(g *gate) {
		var names []string
		for i := range 2 + maxBatch {
			names = append(names, fmt.Sprint(i))
		}
		outcomes := g.doAll(g.Context(), names...)
		close(g.open)
		g.wantBatches(names[:1], names[1:1+maxBatch], names[1+maxBatch:])
		for i, outcome := range outcomes {
			if err := <-outcome; err != nil {
				g.Errorf("%d: %v", i, err)
			}
		}
		g.doAll(g.Context(), "alone")
		g.wantBatches(names[:1], names[1:1+maxBatch], names[1+maxBatch:], []string{"alone"})
	})
}

func TestWorkersRunBatchesAtTheSameTime(t *testing.T) {
	runGated(t, func(g *gate) {
		g.Workers = 2
		g.doAll(g.Context(), "first", "second", "third", "fourth")
		g.open <- struct{}{}
		g.open <- struct{}{}
		synctest.Wait()
		g.mu.Lock()
		slices.SortFunc(g.batches, slices.Compare)
		g.mu.Unlock()
		g.wantBatches([]string{"first"}, []string{"second"})
		close(g.open)
		g.wantBatches([]string{"first"}, []string{"second"}, []string{"third", "fourth"})
	})
}

func TestItemsWhoseCallersLeftAreSkipped(t *testing.T) {
	runGated(t, func(g *gate) {
		g.doAll(g.Context(), "first")
		ctx, cancel := context.WithCancel(g.Context())
		left := g.doAll(ctx, "left")
		g.doAll(g.Context(), "stays")
		cancel()
		if err := <-left[0]; !errors.Is(err, context.Canceled) {
			g.Errorf("the caller that left: %v", err)
		}
		close(g.open)
		g.wantBatches([]string{"first"}, []string{"stays"})
	})
}

// A caller whose context ends during its batch returns immediately, and delays no other
// caller.
func TestACallerMayLeaveDuringItsBatch(t *testing.T) {
	runGated(t, func(g *gate) {
		g.doAll(g.Context(), "first")
		ctx, cancel := context.WithCancel(g.Context())
		left, stays := g.doAll(ctx, "left"), g.doAll(g.Context(), "stays")
		g.open <- struct{}{}
		g.wantBatches([]string{"first"})
		cancel()
		if err := <-left[0]; !errors.Is(err, context.Canceled) {
			g.Errorf("the caller that left: %v", err)
		}
		g.open <- struct{}{}
		g.wantBatches([]string{"first"}, []string{"left", "stays"})
		if err := <-stays[0]; err != nil {
			g.Errorf("the caller that stays: %v", err)
		}
	})
}

func TestAnItemThatCausesAnErrorFailsAlone(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{
		"an error": func() error { return errBad },
		"a panic":  func() error { panic(errBad) },
	} {
		t.Run(name, func(t *testing.T) {
			runGated(t, func(g *gate) {
				g.fault = func(batch []string) error {
					if slices.Contains(batch, "bad") {
						return fail()
					}
					return nil
				}
				outcomes := g.doAll(g.Context(), "first", "good", "bad", "fine")
				close(g.open)
				g.wantBatches([]string{"first"}, []string{"good", "bad", "fine"}, []string{"good"}, []string{"bad"}, []string{"fine"})
				for i, outcome := range outcomes {
					if err := <-outcome; (err != nil) != (i == 2) {
						g.Errorf("%d: %v", i, err)
					}
				}
			})
		})
	}
}

func TestABatchThatCannotSplitRunsOnceUntilItsTimeout(t *testing.T) {
	runGated(t, func(g *gate) {
		outcomes := g.doAll(g.Context(), "first", "second", "third")
		g.open <- struct{}{}
		time.Sleep(g.Timeout + time.Second)
		g.wantBatches([]string{"first"})
		for i, outcome := range outcomes {
			if err := <-outcome; errors.Is(err, context.DeadlineExceeded) != (i > 0) {
				g.Errorf("%d: %v", i, err)
			}
		}
	})
}

func TestCloseRefusesWaitingItemsAndWaitsForTheRunningBatch(t *testing.T) {
	runGated(t, func(g *gate) {
		outcomes := g.doAll(g.Context(), "first", "waits")
		closed := make(chan struct{})
		go func() { g.Close(); close(closed) }()
		if err := <-outcomes[1]; !errors.Is(err, timer.ErrBatcherClosed) {
			g.Errorf("the item that waits: %v", err)
		}
		synctest.Wait()
		select {
		case <-closed:
			g.Error("Close returned while a batch runs")
		default:
		}
		if err := <-g.doAll(g.Context(), "late")[0]; !errors.Is(err, timer.ErrBatcherClosed) {
			g.Errorf("an item after Close: %v", err)
		}
		close(g.open)
		<-closed
		if err := <-outcomes[0]; err != nil {
			g.Errorf("the running item: %v", err)
		}
		g.wantBatches([]string{"first"})
	})
}
