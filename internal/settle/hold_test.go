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

// A condition of the database that nobody has foreseen is no result's fault: all
// results wait, counted, however long it lasts, and are settled once it is over.
func TestUnexpectedErrorsBuryNothing(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"one result": 1, "many results": 300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.ledger = func([]match.Result) error { return errSchema }
				s, stop := w.start(t, nil)
				for i := range n {
					s.Offer(w.over(id(i)))
					time.Sleep(time.Millisecond)
				}
				time.Sleep(3 * time.Hour)
				w.with(func() {
					if len(w.graves) != 0 || len(w.pending) != n {
						t.Errorf("%d dead, %d pending", len(w.graves), len(w.pending))
					}
					w.ledger = func([]match.Result) error { return nil }
				})
				if w.failures(t, reasonUnexpected) == 0 || w.failures(t, reasonRefused) != 0 {
					t.Error("the refusals are counted wrong")
				}
				time.Sleep(time.Minute)
				stop()
				w.wantAll(t, n)
			})
		})
	}
}

// More than a few results refused in a row, each for its own fault as it seems,
// mean that something else is wrong.
func TestABurstOfRefusalsBuriesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.ledger = func([]match.Result) error { return errRefused }
		s, stop := w.start(t, nil)
		for i := range 20 {
			s.Offer(w.over(id(i)))
		}
		time.Sleep(time.Hour)
		w.with(func() {
			if len(w.graves) != 0 || len(w.pending) != 20 {
				t.Errorf("%d dead, %d pending", len(w.graves), len(w.pending))
			}
			w.ledger = func([]match.Result) error { return nil }
		})
		time.Sleep(time.Minute)
		stop()
		w.wantAll(t, 20)
	})
}

// While the results of one game wait, another's are settled at once, and new ones
// of that game too, as soon as the ledger takes them.
func TestAHoldIsOfOneGame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		bad := func(r match.Result) bool { return r.Game == "demo" && r.Match != "good" }
		w.ledger = func(batch []match.Result) error {
			if slices.ContainsFunc(batch, bad) {
				return errSchema
			}
			return nil
		}
		s, stop := w.start(t, nil)
		for i := range 40 {
			r := w.over(id(i))
			if i%2 == 0 {
				r.Game = "other"
				w.with(func() { w.pending[r.Match] = r })
			}
			s.Offer(r)
		}
		time.Sleep(time.Second)
		w.with(func() {
			if len(w.taken) != 20 {
				t.Errorf("%d of the other game's 20 results are settled", len(w.taken))
			}
		})
		s.Offer(w.over("good"))
		time.Sleep(30 * time.Second)
		w.with(func() {
			if !w.taken["good"] || len(w.graves) != 0 || len(w.pending) != 20 {
				t.Errorf("taken %v, %d dead, %d pending", w.taken["good"], len(w.graves), len(w.pending))
			}
		})
		stop()
	})
}

// A refused result is tried once in a while and holds up no sweep: a backlog of
// several pages is settled at once, page after page.
func TestBacklogWithARefusedResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 20 {
			w.over(id(i))
		}
		w.ledger = func(batch []match.Result) error {
			if slices.ContainsFunc(batch, func(r match.Result) bool { return r.Match == "m0" }) {
				return errRefused
			}
			return nil
		}
		time.Sleep(5 * time.Second)
		_, stop := w.start(t, func(c *Config) { c.Batch = 4 })
		time.Sleep(time.Second)
		w.with(func() {
			if len(w.taken) != 19 {
				t.Errorf("%d of 19 are settled after a second", len(w.taken))
			}
		})
		time.Sleep(2 * time.Second)
		w.with(func() {
			if w.tries["m0"] > 2 || len(w.graves) != 0 {
				t.Errorf("%d tries after 3 s, %d dead", w.tries["m0"], len(w.graves))
			}
		})
		stop()
	})
}

// Results without standings, however many, never came to the ledger: they hold up
// no other result of their game, and each is a dead letter in the end.
func TestIncompleteResultsHoldNoGame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 4 * maxInARow {
			w.pending[id(i)] = match.Result{Match: id(i), Game: "demo", Counts: true, Paged: true}
		}
		s, stop := w.start(t, nil)
		time.Sleep(5 * time.Second)
		s.Offer(w.over("good"))
		time.Sleep(time.Second)
		w.with(func() {
			if !w.taken["good"] {
				t.Error("a result with standings is held up")
			}
		})
		time.Sleep(time.Minute)
		w.with(func() {
			if len(w.graves) != 4*maxInARow || len(w.pending) != 0 {
				t.Errorf("%d dead, %d pending", len(w.graves), len(w.pending))
			}
		})
		stop()
		if n := w.failures(t, reasonHeld); n != 0 {
			t.Errorf("held %v results", n)
		}
	})
}
