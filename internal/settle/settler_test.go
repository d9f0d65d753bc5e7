package settle

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := w.start(t, nil)
		s.Offer(w.over("m0"))
		time.Sleep(time.Second)
		w.wantLog(t, "commit m0", "settled m0", "apply demo", "tell m0")
		stop()
		w.wantAll(t, 1)
		if n := w.metric(t, "laststand_settle_results_total", ""); n != 1 {
			t.Errorf("settled %v", n)
		}
	})
}

func TestUncountedResultIsSettledAndNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := w.start(t, nil)
		r := w.over("m0")
		r.Counts = false
		s.Offer(r)
		time.Sleep(time.Second)
		stop()
		w.wantLog(t, "commit m0", "settled m0")
	})
}

// The ledger alone sees that a result is beyond a limit, also when it had it
// already.
func TestResultBeyondALimitIsNotTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.beyond["m0"], w.beyond["m1"], w.taken["m1"] = true, true, true
		w.over("m1") // left for the sweep
		s, stop := w.start(t, nil)
		s.Offer(w.over("m0"))
		time.Sleep(10 * time.Second)
		stop()
		if len(w.told) != 0 || len(w.pending) != 0 {
			t.Errorf("told of %v, pending %v", w.told, w.pending)
		}
	})
}

// A result that comes alone waits for others as long as Linger; those that come
// during a commit go out together right after it.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.latency = 20 * time.Millisecond
		s, stop := w.start(t, nil)
		began := time.Now()
		s.Offer(w.over(id(0)))
		time.Sleep(10 * time.Millisecond) // the commit of m0 is under way
		for n := 1; n <= 300; n++ {
			s.Offer(w.over(id(n)))
		}
		time.Sleep(15*time.Millisecond + 20*time.Millisecond + 20*time.Millisecond)
		synctest.Wait()
		if took := time.Since(began); took != 65*time.Millisecond {
			t.Errorf("took %s", took)
		}
		w.wantAll(t, 301)
		stop()
		if len(w.batches) != 3 || w.batches[0] != 1 || w.batches[1] != 256 || w.batches[2] != 44 {
			t.Errorf("batches %v", w.batches)
		}
		if n := w.metric(t, "laststand_settle_batch_size", ""); n != 3 {
			t.Errorf("%v batches counted", n)
		}
	})
}

func TestBatchIsBoundedBySeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.latency = time.Millisecond
		s, stop := w.start(t, nil)
		for n := range 5 {
			r := w.over(id(n))
			r.Standings = make([]match.Standing, maxSeats/2)
			s.Offer(r)
		}
		time.Sleep(time.Second)
		stop()
		w.wantAll(t, 5)
		if len(w.batches) != 3 {
			t.Errorf("batches %v", w.batches)
		}
	})
}

func TestSweptBatchIsBoundedBySeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for n := range 5 {
			w.over(id(n))
			r := w.pending[id(n)]
			r.Standings = make([]match.Standing, maxSeats/2)
			w.pending[id(n)] = r
		}
		time.Sleep(2 * time.Second)
		_, stop := w.start(t, nil)
		stop()
		w.wantAll(t, 5)
		if !slices.Equal(w.batches, []int{2, 2, 1}) {
			t.Errorf("batches %v", w.batches)
		}
	})
}

// A result whose standings are read in pages is settled once a sweep has it
// whole.
func TestPagedResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s, stop := w.start(t, nil)
		r := w.over("m0")
		r.Paged, r.Standings = true, nil
		if s.Offer(r) {
			t.Error("took a result without standings")
		}
		time.Sleep(time.Second)
		w.with(func() {
			if len(w.batches) != 0 {
				t.Errorf("batches %v", w.batches)
			}
		})
		time.Sleep(10 * time.Second)
		w.wantAll(t, 1)
		stop()
		if n := w.failures(t, reasonQueueFull); n != 0 {
			t.Errorf("%v failures", n)
		}
	})
}

func TestLedgerDownThenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.ledger = func([]match.Result) error { return errDown }
		s, stop := w.start(t, func(c *Config) { c.Queue, c.Batch = 50, 10 })
		refused := 0
		for n := range 200 { // more than the queue takes
			if !s.Offer(w.over(id(n))) {
				refused++
			}
			time.Sleep(100 * time.Millisecond)
		}
		w.with(func() {
			if refused < 200-50-10 || len(w.taken) != 0 {
				t.Errorf("refused %d, taken %d", refused, len(w.taken))
			}
		})
		if n := w.failures(t, reasonQueueFull); n != float64(refused) {
			t.Errorf("%v refusals counted, there were %d", n, refused)
		}
		if n := w.metric(t, "laststand_settle_queue_length", ""); n != 50 {
			t.Errorf("queue gauge %v", n)
		}
		if w.failures(t, reasonUnavailable) == 0 {
			t.Error("the outage was not counted")
		}
		w.with(func() { w.ledger = func([]match.Result) error { return nil } })
		time.Sleep(time.Minute)
		w.wantAll(t, 200)
		stop()
	})
}

// The ledger committed, but its answer was lost: the second time it knows the
// matches already, and their players are told all the same.
func TestLostAnswerOfACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.ledger = func([]match.Result) error {
			if w.tries["m0"] > 1 {
				return nil
			}
			w.taken["m0"] = true
			return errDown
		}
		s, stop := w.start(t, nil)
		s.Offer(w.over("m0"))
		time.Sleep(time.Minute)
		stop()
		w.wantAll(t, 1)
	})
}

func TestStopDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.latency = 10 * time.Millisecond
		s, stop := w.start(t, nil)
		for n := range 1000 {
			s.Offer(w.over(id(n)))
		}
		stop()
		w.wantAll(t, 1000)
		if s.Offer(w.over("late")) {
			t.Error("a stopped settler took a result")
		}
		if n := w.failures(t, reasonStopped); n != 1 {
			t.Errorf("%v counted as stopped", n)
		}
	})
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*world){
		"ledger down":  func(w *world) { w.ledger = func([]match.Result) error { return errDown } },
		"ledger hangs": func(w *world) { w.latency = time.Hour },
		"boards down":  func(w *world) { w.boards = func(string) error { return errDown } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				spoil(w)
				s, stop := w.start(t, func(c *Config) { c.Batch = 10 })
				for n := range 25 {
					s.Offer(w.over(id(n)))
				}
				time.Sleep(time.Second)
				began := time.Now()
				stop()
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("the stop took %s", took)
				}
				if n := w.failures(t, reasonStopped) + w.failures(t, reasonUntold); n != 25 {
					t.Errorf("%v counted as left behind, want 25", n)
				}
			})
		})
	}
}

func TestSweepSettlesLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for n := range 1000 { // of a former process; one of them is in the ledger already
			w.over(id(n))
		}
		w.taken[id(7)] = true
		time.Sleep(2 * time.Second)
		_, stop := w.start(t, nil)
		w.wantAll(t, 1000) // at once
		stop()
	})
}

func TestSweepLeavesFreshResultsToTheirNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		_, stop := w.start(t, nil)
		time.Sleep(1500 * time.Millisecond)
		w.over("m0")
		time.Sleep(time.Second) // the sweep at 2 s found it half a second old
		w.with(func() {
			if len(w.tries) != 0 {
				t.Error("the sweep took a fresh result")
			}
		})
		time.Sleep(2 * time.Second)
		w.wantAll(t, 1)
		stop()
	})
}

// Results that are offered while the sweep finds them too are told once.
func TestOfferedAndSwept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.latency = 3 * time.Second // so that the queue outlives sweeps
		s, stop := w.start(t, func(c *Config) { c.Batch = 10 })
		for n := range 100 {
			s.Offer(w.over(id(n)))
		}
		time.Sleep(5 * time.Minute)
		w.wantAll(t, 100)
		stop()
		if n := w.metric(t, "laststand_settle_results_total", ""); n != 100 {
			t.Errorf("settled %v", n)
		}
	})
}

// refuse makes the ledger refuse every batch with one of the matches.
func (w *world) refuse(ids ...string) {
	w.ledger = func(batch []match.Result) error {
		for _, r := range batch {
			for _, id := range ids {
				if r.Match == id {
					return errRefused
				}
			}
		}
		return nil
	}
}

func TestRefusedResultHoldsUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.refuse(id(3), id(5))
		s, stop := w.start(t, func(c *Config) { c.Batch = 2 }) // parked ones would fill a page
		for n := range 20 {
			s.Offer(w.over(id(n)))
		}
		time.Sleep(5 * time.Second)
		w.with(func() {
			if len(w.taken) != 18 || len(w.pending) != 2 {
				t.Errorf("%d taken, %d pending: want 18 and 2", len(w.taken), len(w.pending))
			}
		})
		w.over(id(20)) // the sweep finds it behind the parked ones
		time.Sleep(5 * time.Second)
		w.with(func() {
			if !w.taken[id(20)] {
				t.Error("parked results hide another from the sweep")
			}
			if len(w.graves) != 0 {
				t.Errorf("dead within 10 s: %v", w.graves)
			}
		})
		stop()
	})
}

func TestPendingDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.settled = func() error { return errDown }
		s, stop := w.start(t, nil)
		for n := range 10 {
			s.Offer(w.over(id(n)))
		}
		time.Sleep(10 * time.Second)
		w.with(func() {
			if len(w.pending) != 10 || len(w.told) != 10 || w.failures(t, reasonPending) == 0 {
				t.Errorf("%d pending, %d told", len(w.pending), len(w.told))
			}
		})
		w.with(func() { w.settled = func() error { return nil } })
		time.Sleep(10 * time.Second)
		w.wantAll(t, 10)
		stop()
	})
}

func TestBoardsOfOneGameDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.boards = func(game string) error {
			if game == "other" {
				return errDown
			}
			return nil
		}
		s, stop := w.start(t, nil)
		stuck := w.over("m0")
		stuck.Game = "other"
		s.Offer(stuck)
		s.Offer(w.over("m1"))
		time.Sleep(time.Second)
		w.with(func() {
			if len(w.pending) != 0 || w.told["m1"] != 1 || w.told["m0"] != 0 {
				t.Errorf("pending %v, told %v", w.pending, w.told)
			}
		})
		w.with(func() { w.boards = func(string) error { return nil } })
		time.Sleep(10 * time.Second)
		w.wantAll(t, 2)
		stop()
	})
}

// More than the shelf holds is in the ledger, and its players are not told.
func TestFullShelf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.boards = func(string) error { return errDown }
		s, stop := w.start(t, func(c *Config) { c.Shelf = 5 })
		for n := range 20 {
			s.Offer(w.over(id(n)))
			time.Sleep(100 * time.Millisecond)
		}
		w.with(func() { w.boards = func(string) error { return nil } })
		time.Sleep(time.Minute)
		stop()
		untold := w.failures(t, reasonUntold)
		if len(w.taken) != 20 || len(w.pending) != 0 || len(w.told)+int(untold) != 20 || len(w.told) < 5 {
			t.Errorf("%d taken, %d pending, %d told, %v untold", len(w.taken), len(w.pending), len(w.told), untold)
		}
	})
}

// Whatever fails and comes back, in whatever order results come, each is in the
// ledger once, those that died too once they are requeued, nothing stays
// pending, and all are told.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const n = 60
		faults := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 80).Draw(rt, "faults")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 900), n, n).Draw(rt, "gaps")
		offered := rapid.SliceOfN(rapid.Bool(), n, n).Draw(rt, "offered")
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			fault := func(kind int, err error) error {
				if len(faults) == 0 {
					return nil
				}
				next := faults[0]
				faults = faults[1:]
				if next == kind {
					return err
				}
				return nil
			}
			w.ledger = func([]match.Result) error {
				if err := fault(1, errRefused); err != nil {
					return err
				}
				return fault(2, errDown)
			}
			w.settled = func() error { return fault(3, errDown) }
			w.boards = func(string) error { return fault(4, errDown) }
			s, stop := w.start(t, func(c *Config) { c.Queue, c.Batch = 5, 3 })
			for i := range n {
				r := w.over(id(i))
				if offered[i] {
					s.Offer(r)
				}
				time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
			}
			time.Sleep(time.Hour)
			for id := range w.graves {
				if dead, err := s.Requeue(t.Context(), id); err != nil || dead.State != taskqueue.Done {
					t.Errorf("%s: %+v, %v", id, dead, err)
				}
			}
			stop()
			w.wantAll(t, n)
		})
	})
}
