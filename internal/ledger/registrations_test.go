package ledger

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"laststand/internal/identity"
)

// gatedAdmit replaces Ledger.admit in these tests. It records which players share a
// transaction, and each transaction waits until the test lets it continue.
type gatedAdmit struct {
	*registrationBatcher
	*testing.T
	open  chan struct{}
	fault func(batch []string) error

	mu     sync.Mutex
	passed [][]string
}

func runGated(t *testing.T, f func(d *gatedAdmit)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &gatedAdmit{T: t, open: make(chan struct{}), fault: func([]string) error { return nil }}
		d.registrationBatcher = &registrationBatcher{maxWorkers: 1, batchSizes: newBatchSizes(nil), admit: d.admit}
		f(d)
		d.close()
	})
}

func (d *gatedAdmit) admit(ctx context.Context, batch []*registration) error {
	select {
	case <-d.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	var ids []string
	for _, a := range batch {
		ids = append(ids, a.ID)
		a.created = true
	}
	d.mu.Lock()
	d.passed = append(d.passed, ids)
	d.mu.Unlock()
	return d.fault(ids)
}

// registerAll registers players one after another. The first finds the worker free. It
// returns a channel with the outcome of each.
func (d *gatedAdmit) registerAll(ctx context.Context, ids ...string) []chan error {
	var ends []chan error
	for _, id := range ids {
		end := make(chan error, 1)
		go func() { // ends with the bubble
			created, err := d.register(ctx, identity.NewPlayer{ID: id})
			if created != (err == nil) {
				d.Errorf("%s: created %v, %v", id, created, err)
			}
			end <- err
		}()
		synctest.Wait()
		ends = append(ends, end)
	}
	return ends
}

func (d *gatedAdmit) check(passed ...[]string) {
	d.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.EqualFunc(d.passed, passed, slices.Equal) {
		d.Errorf("passed %v, want %v", d.passed, passed)
	}
}

func TestWaitingPlayersShareATransaction(t *testing.T) {
	runGated(t, func(d *gatedAdmit) {
		ids := names("p", 2+maxRegistrationBatch)
		ends := d.registerAll(d.Context(), ids...)
		close(d.open)
		d.check(ids[:1], ids[1:1+maxRegistrationBatch], ids[1+maxRegistrationBatch:])
		for i, end := range ends {
			if err := <-end; err != nil {
				d.Errorf("%d: %v", i, err)
			}
		}
		d.registerAll(d.Context(), "alone")
		d.check(ids[:1], ids[1:1+maxRegistrationBatch], ids[1+maxRegistrationBatch:], []string{"alone"})
	})
}

func TestPlayersWhoseCallersLeftAreSkipped(t *testing.T) {
	runGated(t, func(d *gatedAdmit) {
		d.registerAll(d.Context(), "first")
		ctx, cancel := context.WithCancel(d.Context())
		gone := d.registerAll(ctx, "gone")
		d.registerAll(d.Context(), "stays")
		cancel()
		if err := <-gone[0]; !errors.Is(err, context.Canceled) {
			d.Errorf("who gives up waits on: %v", err)
		}
		close(d.open)
		d.check([]string{"first"}, []string{"stays"})
	})
}

// A caller whose context ends during the transaction returns immediately, and delays no
// other caller.
func TestACallerMayLeaveDuringTheTransaction(t *testing.T) {
	runGated(t, func(d *gatedAdmit) {
		d.registerAll(d.Context(), "first")
		ctx, cancel := context.WithCancel(d.Context())
		gone := d.registerAll(ctx, "gone")
		stays := d.registerAll(d.Context(), "stays")
		d.open <- struct{}{}
		d.check([]string{"first"})
		cancel()
		if err := <-gone[0]; !errors.Is(err, context.Canceled) {
			d.Errorf("who gives up: %v", err)
		}
		d.open <- struct{}{}
		d.check([]string{"first"}, []string{"gone", "stays"})
		if err := <-stays[0]; err != nil {
			d.Errorf("who stays: %v", err)
		}
	})
}

// A player who causes an error fails alone: if the database refuses the transaction, and
// if the insert panics.
func TestAPlayerThatCausesAnErrorFailsAlone(t *testing.T) {
	t.Parallel()
	errBad := errors.New("refused")
	for name, fail := range map[string]func() error{
		"an error": func() error { return errBad },
		"a panic":  func() error { panic(errBad) },
		"a circle": func() error { return &pgconn.PgError{Code: "40P01"} }, // a deadlock of locks
	} {
		t.Run(name, func(t *testing.T) {
			runGated(t, func(d *gatedAdmit) {
				d.fault = func(batch []string) error {
					if slices.Contains(batch, "bad") {
						return fail()
					}
					return nil
				}
				ends := d.registerAll(d.Context(), "first", "good", "bad", "fine")
				close(d.open)
				d.check([]string{"first"}, []string{"good", "bad", "fine"}, []string{"good"}, []string{"bad"}, []string{"fine"})
				for i, end := range ends {
					if err := <-end; (err != nil) != (i == 2) {
						d.Errorf("%d: %v", i, err)
					}
				}
			})
		})
	}
}

// If the database is unreachable, a batch is not retried player by player.
func TestAnUnreachableDatabaseIsTriedOncePerBatch(t *testing.T) {
	runGated(t, func(d *gatedAdmit) {
		ends := d.registerAll(d.Context(), "p1", "p2", "p3")
		time.Sleep(time.Minute) // the running registration waits as long as its own context
		d.check()
		d.open <- struct{}{}
		time.Sleep(registrationTimeout + time.Second)
		d.check([]string{"p1"})
		for i, end := range ends {
			if err := <-end; errors.Is(err, context.DeadlineExceeded) != (i > 0) {
				d.Errorf("%d: %v", i, err)
			}
		}
	})
}

func TestCloseRefusesWaitingPlayers(t *testing.T) {
	runGated(t, func(d *gatedAdmit) {
		ends := d.registerAll(d.Context(), "first", "waits")
		closed := make(chan struct{})
		go func() { d.close(); close(closed) }()
		if err := <-ends[1]; !errors.Is(err, errClosed) {
			d.Errorf("who waits: %v", err)
		}
		synctest.Wait()
		select {
		case <-closed:
			d.Error("it is closed amid a transaction")
		default:
		}
		if err := <-d.registerAll(d.Context(), "late")[0]; !errors.Is(err, errClosed) || !IsUnavailable(err) { // another node may take them
			d.Errorf("who comes: %v", err)
		}
		close(d.open)
		<-closed
		if err := <-ends[0]; err != nil {
			d.Errorf("who was on the way: %v", err)
		}
		d.check([]string{"first"})
	})
}

// A worker that panics in its caller's goroutine is free again.
func TestAWorkerSurvivesAPanic(t *testing.T) {
	runGated(t, func(d *gatedAdmit) {
		close(d.open)
		d.fault = func(batch []string) error {
			if batch[0] == "bad" {
				panic("bad")
			}
			return nil
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = d.register(d.Context(), identity.NewPlayer{ID: "bad"})
			d.Error("no panic")
		}()
		if err := <-d.registerAll(d.Context(), "good")[0]; err != nil {
			d.Error(err)
		}
	})
}
