package settle

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
)

var errSchema = errors.New(`column "place" does not exist`)

// An unknown error of the database is not the fault of a result. All results wait
// and are counted, for as long as it lasts. They are settled when it is over.
func TestUnexpectedErrorsMakeNoDeadLetter(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"one result": 1, "many results": 300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				f.ledger = func([]match.Result) error { return errSchema }
				s, stop := f.start(t, nil)
				for i := range n {
					s.Offer(f.over(id(i)))
					time.Sleep(time.Millisecond)
				}
				time.Sleep(3 * time.Hour)
				f.with(func() {
					if len(f.graves) != 0 || len(f.pending) != n {
						t.Errorf("%d dead, %d pending", len(f.graves), len(f.pending))
					}
					f.ledger = func([]match.Result) error { return nil }
				})
				if f.failures(t, reasonUnexpected) == 0 || f.failures(t, reasonRefused) != 0 {
					t.Error("the refusals are counted wrong")
				}
				time.Sleep(time.Minute)
				stop()
				f.wantAll(t, n)
			})
		})
	}
}

// If more than a few results in a row are refused, each apparently for its own
// fault, something else is wrong.
func TestABurstOfRefusalsMakesNoDeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.ledger = func([]match.Result) error { return errRefused }
		s, stop := f.start(t, nil)
		for i := range 20 {
			s.Offer(f.over(id(i)))
		}
		time.Sleep(time.Hour)
		f.with(func() {
			if len(f.graves) != 0 || len(f.pending) != 20 {
				t.Errorf("%d dead, %d pending", len(f.graves), len(f.pending))
			}
			f.ledger = func([]match.Result) error { return nil }
		})
		time.Sleep(time.Minute)
		stop()
		f.wantAll(t, 20)
	})
}

// While results of one game wait, results of another game are settled immediately.
// New results of the first game are settled as soon as the ledger accepts them.
func TestAHoldIsOfOneGame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		bad := func(r match.Result) bool { return r.Game == "demo" && r.Match != "good" }
		f.ledger = func(batch []match.Result) error {
			if slices.ContainsFunc(batch, bad) {
				return errSchema
			}
			return nil
		}
		s, stop := f.start(t, nil)
		for i := range 40 {
			r := f.over(id(i))
			if i%2 == 0 {
				r.Game = "other"
				f.with(func() { f.pending[r.Match] = r })
			}
			s.Offer(r)
		}
		time.Sleep(time.Second)
		f.with(func() {
			if len(f.taken) != 20 {
				t.Errorf("%d of the other game's 20 results are settled", len(f.taken))
			}
		})
		s.Offer(f.over("good"))
		time.Sleep(30 * time.Second)
		f.with(func() {
			if !f.taken["good"] || len(f.graves) != 0 || len(f.pending) != 20 {
				t.Errorf("taken %v, %d dead, %d pending", f.taken["good"], len(f.graves), len(f.pending))
			}
		})
		stop()
	})
}

// A refused result gets occasional attempts and does not hold up sweeps. A backlog
// of several pages is settled page after page, without a wait between pages.
func TestBacklogWithARefusedResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		for i := range 20 {
			f.over(id(i))
		}
		f.ledger = func(batch []match.Result) error {
			if slices.ContainsFunc(batch, func(r match.Result) bool { return r.Match == "m0" }) {
				return errRefused
			}
			return nil
		}
		time.Sleep(5 * time.Second)
		_, stop := f.start(t, func(c *Config) { c.BatchSize = 4 })
		time.Sleep(time.Second)
		f.with(func() {
			if len(f.taken) != 19 {
				t.Errorf("%d of 19 are settled after a second", len(f.taken))
			}
		})
		time.Sleep(2 * time.Second)
		f.with(func() {
			if f.tries["m0"] > 2 || len(f.graves) != 0 {
				t.Errorf("%d tries after 3 s, %d dead", f.tries["m0"], len(f.graves))
			}
		})
		stop()
	})
}

// Results without standings never reached the ledger. However many there are, they
// delay no other result of their game, and each becomes a dead letter.
func TestIncompleteResultsHoldNoGame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		for i := range 4 * maxRefusedInRow {
			f.pending[id(i)] = match.Result{Match: id(i), Game: "demo", Counts: true, Paged: true}
		}
		s, stop := f.start(t, nil)
		time.Sleep(5 * time.Second)
		s.Offer(f.over("good"))
		time.Sleep(time.Second)
		f.with(func() {
			if !f.taken["good"] {
				t.Error("a result with standings is held up")
			}
		})
		time.Sleep(time.Minute)
		f.with(func() {
			if len(f.graves) != 4*maxRefusedInRow || len(f.pending) != 0 {
				t.Errorf("%d dead, %d pending", len(f.graves), len(f.pending))
			}
		})
		stop()
		if n := f.failures(t, reasonHeld); n != 0 {
			t.Errorf("held %v results", n)
		}
	})
}
