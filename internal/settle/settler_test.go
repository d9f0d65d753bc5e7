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
		f := newFixture()
		s, stop := f.start(t, nil)
		s.Offer(f.over("m0"))
		time.Sleep(time.Second)
		f.wantLog(t, "commit m0", "settled m0", "apply demo", "tell m0")
		stop()
		f.wantAll(t, 1)
		if n := f.metric(t, "laststand_settle_results_total", ""); n != 1 {
			t.Errorf("settled %v", n)
		}
	})
}

func TestUncountedResultIsSettledWithoutNotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		s, stop := f.start(t, nil)
		r := f.over("m0")
		r.Counts = false
		s.Offer(r)
		time.Sleep(time.Second)
		stop()
		f.wantLog(t, "commit m0", "settled m0")
	})
}

// Only the ledger knows that a result is above a limit. This also applies to a result
// that the ledger had already.
func TestResultBeyondALimitIsNotNotified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.beyond["m0"], f.beyond["m1"], f.taken["m1"] = true, true, true
		f.over("m1") // left for the sweep
		s, stop := f.start(t, nil)
		s.Offer(f.over("m0"))
		time.Sleep(10 * time.Second)
		stop()
		if len(f.notified) != 0 || len(f.pending) != 0 {
			t.Errorf("told of %v, pending %v", f.notified, f.pending)
		}
	})
}

// A single result waits for others for BatchDelay. Results that arrive during a
// commit are committed together in the next commit.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.latency = 20 * time.Millisecond
		s, stop := f.start(t, nil)
		began := time.Now()
		s.Offer(f.over(id(0)))
		time.Sleep(10 * time.Millisecond) // the commit of m0 is under way
		for n := 1; n <= 300; n++ {
			s.Offer(f.over(id(n)))
		}
		time.Sleep(15*time.Millisecond + 20*time.Millisecond + 20*time.Millisecond)
		synctest.Wait()
		if took := time.Since(began); took != 65*time.Millisecond {
			t.Errorf("took %s", took)
		}
		f.wantAll(t, 301)
		stop()
		if len(f.batches) != 3 || f.batches[0] != 1 || f.batches[1] != 256 || f.batches[2] != 44 {
			t.Errorf("batches %v", f.batches)
		}
		if n := f.metric(t, "laststand_settle_batch_size", ""); n != 3 {
			t.Errorf("%v batches counted", n)
		}
	})
}

func TestBatchIsBoundedBySeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.latency = time.Millisecond
		s, stop := f.start(t, nil)
		for n := range 5 {
			r := f.over(id(n))
			r.Standings = make([]match.Standing, maxSeats/2)
			s.Offer(r)
		}
		time.Sleep(time.Second)
		stop()
		f.wantAll(t, 5)
		if len(f.batches) != 3 {
			t.Errorf("batches %v", f.batches)
		}
	})
}

func TestSweptBatchIsBoundedBySeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		for n := range 5 {
			f.over(id(n))
			r := f.pending[id(n)]
			r.Standings = make([]match.Standing, maxSeats/2)
			f.pending[id(n)] = r
		}
		time.Sleep(2 * time.Second)
		_, stop := f.start(t, nil)
		stop()
		f.wantAll(t, 5)
		if !slices.Equal(f.batches, []int{2, 2, 1}) {
			t.Errorf("batches %v", f.batches)
		}
	})
}

// A result whose standings are read in pages is settled when a sweep has read all of
// them.
func TestPagedResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		s, stop := f.start(t, nil)
		r := f.over("m0")
		r.Paged, r.Standings = true, nil
		if s.Offer(r) {
			t.Error("took a result without standings")
		}
		time.Sleep(time.Second)
		f.with(func() {
			if len(f.batches) != 0 {
				t.Errorf("batches %v", f.batches)
			}
		})
		time.Sleep(10 * time.Second)
		f.wantAll(t, 1)
		stop()
		if n := f.failures(t, reasonQueueFull); n != 0 {
			t.Errorf("%v failures", n)
		}
	})
}

func TestLedgerDownThenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.ledger = func([]match.Result) error { return errDown }
		s, stop := f.start(t, func(c *Config) { c.QueueSize, c.BatchSize = 50, 10 })
		refused := 0
		for n := range 200 { // more than the queue takes
			if !s.Offer(f.over(id(n))) {
				refused++
			}
			time.Sleep(100 * time.Millisecond)
		}
		f.with(func() {
			if refused < 200-50-10 || len(f.taken) != 0 {
				t.Errorf("refused %d, taken %d", refused, len(f.taken))
			}
		})
		if n := f.failures(t, reasonQueueFull); n != float64(refused) {
			t.Errorf("%v refusals counted, there were %d", n, refused)
		}
		if n := f.metric(t, "laststand_settle_queue_length", ""); n != 50 {
			t.Errorf("queue gauge %v", n)
		}
		if f.failures(t, reasonUnavailable) == 0 {
			t.Error("the outage was not counted")
		}
		f.with(func() { f.ledger = func([]match.Result) error { return nil } })
		time.Sleep(time.Minute)
		f.wantAll(t, 200)
		stop()
	})
}

// The ledger committed, but its answer was lost. The second time it knows the
// matches already, and their players are still notified.
func TestLostAnswerOfACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.ledger = func([]match.Result) error {
			if f.tries["m0"] > 1 {
				return nil
			}
			f.taken["m0"] = true
			return errDown
		}
		s, stop := f.start(t, nil)
		s.Offer(f.over("m0"))
		time.Sleep(time.Minute)
		stop()
		f.wantAll(t, 1)
	})
}

func TestStopDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.latency = 10 * time.Millisecond
		s, stop := f.start(t, nil)
		for n := range 1000 {
			s.Offer(f.over(id(n)))
		}
		stop()
		f.wantAll(t, 1000)
		if s.Offer(f.over("late")) {
			t.Error("a stopped settler took a result")
		}
		if n := f.failures(t, reasonStopped); n != 1 {
			t.Errorf("%v counted as stopped", n)
		}
	})
}

func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fixture){
		"ledger down":  func(f *fixture) { f.ledger = func([]match.Result) error { return errDown } },
		"ledger hangs": func(f *fixture) { f.latency = time.Hour },
		"boards down":  func(f *fixture) { f.boards = func(string) error { return errDown } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture()
				spoil(f)
				s, stop := f.start(t, func(c *Config) { c.BatchSize = 10 })
				for n := range 25 {
					s.Offer(f.over(id(n)))
				}
				time.Sleep(time.Second)
				began := time.Now()
				stop()
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("the stop took %s", took)
				}
				if n := f.failures(t, reasonStopped) + f.failures(t, reasonNotification); n != 25 {
					t.Errorf("%v counted as left behind, want 25", n)
				}
			})
		})
	}
}

func TestSweepSettlesLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		for n := range 1000 { // of a former process; one of them is in the ledger already
			f.over(id(n))
		}
		f.taken[id(7)] = true
		time.Sleep(2 * time.Second)
		_, stop := f.start(t, nil)
		f.wantAll(t, 1000) // at once
		stop()
	})
}

func TestSweepLeavesFreshResultsToTheirNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		_, stop := f.start(t, nil)
		time.Sleep(1500 * time.Millisecond)
		f.over("m0")
		time.Sleep(time.Second) // the sweep at 2 s found it half a second old
		f.with(func() {
			if len(f.tries) != 0 {
				t.Error("the sweep took a fresh result")
			}
		})
		time.Sleep(2 * time.Second)
		f.wantAll(t, 1)
		stop()
	})
}

// If a result is offered and a sweep also finds it, its players are notified once.
func TestOfferedAndSwept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.latency = 3 * time.Second // so that the queue outlives sweeps
		s, stop := f.start(t, func(c *Config) { c.BatchSize = 10 })
		for n := range 100 {
			s.Offer(f.over(id(n)))
		}
		time.Sleep(5 * time.Minute)
		f.wantAll(t, 100)
		stop()
		if n := f.metric(t, "laststand_settle_results_total", ""); n != 100 {
			t.Errorf("settled %v", n)
		}
	})
}

// refuse makes the ledger refuse every batch with one of the matches.
func (f *fixture) refuse(ids ...string) {
	f.ledger = func(batch []match.Result) error {
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
		f := newFixture()
		f.refuse(id(3), id(5))
		s, stop := f.start(t, func(c *Config) { c.BatchSize = 2 }) // parked ones would fill a page
		for n := range 20 {
			s.Offer(f.over(id(n)))
		}
		time.Sleep(5 * time.Second)
		f.with(func() {
			if len(f.taken) != 18 || len(f.pending) != 2 {
				t.Errorf("%d taken, %d pending: want 18 and 2", len(f.taken), len(f.pending))
			}
		})
		f.over(id(20)) // the sweep finds it behind the parked ones
		time.Sleep(5 * time.Second)
		f.with(func() {
			if !f.taken[id(20)] {
				t.Error("parked results hide another from the sweep")
			}
			if len(f.graves) != 0 {
				t.Errorf("dead within 10 s: %v", f.graves)
			}
		})
		stop()
	})
}

func TestPendingDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.settled = func() error { return errDown }
		s, stop := f.start(t, nil)
		for n := range 10 {
			s.Offer(f.over(id(n)))
		}
		time.Sleep(10 * time.Second)
		f.with(func() {
			if len(f.pending) != 10 || len(f.notified) != 10 || f.failures(t, reasonPending) == 0 {
				t.Errorf("%d pending, %d told", len(f.pending), len(f.notified))
			}
		})
		f.with(func() { f.settled = func() error { return nil } })
		time.Sleep(10 * time.Second)
		f.wantAll(t, 10)
		stop()
	})
}

func TestLeaderboardsOfOneGameDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.boards = func(game string) error {
			if game == "other" {
				return errDown
			}
			return nil
		}
		s, stop := f.start(t, nil)
		stuck := f.over("m0")
		stuck.Game = "other"
		s.Offer(stuck)
		s.Offer(f.over("m1"))
		time.Sleep(time.Second)
		f.with(func() {
			if len(f.pending) != 0 || f.notified["m1"] != 1 || f.notified["m0"] != 0 {
				t.Errorf("pending %v, told %v", f.pending, f.notified)
			}
		})
		f.with(func() { f.boards = func(string) error { return nil } })
		time.Sleep(10 * time.Second)
		f.wantAll(t, 2)
		stop()
	})
}

// Results above the size of the outbox are in the ledger, but their players are not notified.
func TestFullOutbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture()
		f.boards = func(string) error { return errDown }
		s, stop := f.start(t, func(c *Config) { c.LeaderboardQueue = 5 })
		for n := range 20 {
			s.Offer(f.over(id(n)))
			time.Sleep(100 * time.Millisecond)
		}
		f.with(func() { f.boards = func(string) error { return nil } })
		time.Sleep(time.Minute)
		stop()
		untold := f.failures(t, reasonNotification)
		if len(f.taken) != 20 || len(f.pending) != 0 || len(f.notified)+int(untold) != 20 || len(f.notified) < 5 {
			t.Errorf("%d taken, %d pending, %d told, %v untold", len(f.taken), len(f.pending), len(f.notified), untold)
		}
	})
}

// Stores fail and recover, and results arrive in any order. Each result is in the
// ledger once, also dead letters after a requeue. Nothing stays pending, and all
// players are notified.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const n = 60
		faults := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 80).Draw(rt, "faults")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 900), n, n).Draw(rt, "gaps")
		offered := rapid.SliceOfN(rapid.Bool(), n, n).Draw(rt, "offered")
		synctest.Test(t, func(t *testing.T) {
			f := newFixture()
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
			f.ledger = func([]match.Result) error {
				if err := fault(1, errRefused); err != nil {
					return err
				}
				return fault(2, errDown)
			}
			f.settled = func() error { return fault(3, errDown) }
			f.boards = func(string) error { return fault(4, errDown) }
			s, stop := f.start(t, func(c *Config) { c.QueueSize, c.BatchSize = 5, 3 })
			for i := range n {
				r := f.over(id(i))
				if offered[i] {
					s.Offer(r)
				}
				time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
			}
			time.Sleep(time.Hour)
			for id := range f.graves {
				if dead, err := s.Requeue(t.Context(), id); err != nil || dead.State != taskqueue.Done {
					t.Errorf("%s: %+v, %v", id, dead, err)
				}
			}
			stop()
			f.wantAll(t, n)
		})
	})
}
