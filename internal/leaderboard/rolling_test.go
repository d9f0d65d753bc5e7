package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// crowd gives each of n players one match.
func (b *bench) crowd(n int) {
	for i := range n {
		b.book.result(Players, fmt.Sprint("p", i), int64(i%9))
	}
}

// days are some with a crowd each, all applied and all worked off.
func (b *bench) days(t *testing.T, days, crowd int) {
	t.Helper()
	for range days {
		b.crowd(crowd)
		b.book.turns(1)
		b.apply(t)
		b.pieces(t)
	}
}

// right compares every board with the ledger.
func (b *bench) right(t *testing.T) {
	t.Helper()
	h := &history{cfg: b.cfg, book: b.book, memory: b.memory}
	h.compareAll(t)
}

// exact says that windows begin where they should, and the next day's are ready.
func (b *bench) exact(t *testing.T) {
	t.Helper()
	state := b.state(t)
	for w, r := range state.Rolls {
		first := addDays(state.Mark.Day, 1-w.Days())
		if r.Lo[r.Served] != first || r.Lo[r.other()] != addDays(first, 1) || r.Cursor != [2]int64{} {
			t.Errorf("on %s %s is at %+v", state.Mark.Day, w, r)
		}
	}
	b.right(t)
}

// builds counts the copies begun for a reason.
func (b *bench) builds(reason string) float64 {
	return testutil.ToFloat64(b.metrics.builds.WithLabelValues(b.cfg.Game, reason))
}

func TestATurnIsOneSmallStepAndServesWhatWasPrepared(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.days(t, 9, 60)
	steps := b.memory.steps
	b.memory.widest = 0
	b.book.turns(1)
	b.apply(t)
	if b.memory.steps != steps+1 || b.memory.widest > 3 {
		t.Errorf("a turn was %d steps, the widest of %d writes", b.memory.steps-steps, b.memory.widest)
	}
	state := b.state(t)
	for w, r := range state.Rolls {
		if r.Lo[r.Served] != addDays(state.Mark.Day, 1-w.Days()) {
			t.Errorf("after the turn %s is served from %s on", w, r.Lo[r.Served])
		}
	}
	b.right(t)
}

func TestDaysMissedAreCaughtUpWith(t *testing.T) {
	t.Parallel()
	for _, missed := range []int{1, 2, 5, 6} {
		b := newBench()
		b.cfg.Windows = []Window{All, Day, "7d"}
		b.Applier = appliersOf(b.book, b.memory, b.cfg)
		b.days(t, 9, 60)
		built := b.builds(rollBroken)
		b.book.turns(missed)
		b.crowd(3)
		b.apply(t)
		b.right(t)
		b.pieces(t)
		b.exact(t)
		if b.builds(rollBroken) != built {
			t.Errorf("%d days missed of a window of 7 asked for a build", missed)
		}
	}
}

// broken expects the next upkeep to ask for a build, which puts things right.
func (b *bench) broken(t *testing.T, want error) {
	t.Helper()
	if err := b.tillError(t); !errors.Is(err, want) || !errors.Is(err, errLost) {
		t.Fatalf("the boards are not found torn: %v", err)
	}
	if n := b.builds(rollBroken); n != 1 {
		t.Fatalf("%v builds were asked for", n)
	}
	if err := b.build(t.Context(), b.cfg); err != nil {
		t.Fatal(err)
	}
	b.apply(t)
	b.pieces(t)
	b.exact(t)
}

func (b *bench) tillError(t *testing.T) error {
	for {
		left, err := b.piece(t.Context(), b.cfg, nil)
		if err != nil || left == nil {
			return err
		}
	}
}

func TestAWindowBehindByItsLengthIsBuiltAnew(t *testing.T) {
	t.Parallel()
	for _, missed := range []int{8, 30} {
		b := newBench()
		b.cfg.Windows = []Window{All, Day, "7d"}
		b.Applier = appliersOf(b.book, b.memory, b.cfg)
		b.days(t, 9, 60)
		b.book.turns(missed)
		b.apply(t)
		b.broken(t, errBehind)
	}
}

func TestADayThatIsShortIsBuiltAnew(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.days(t, 9, 60)
	b.book.turns(1)
	b.apply(t)
	c := b.memory.copies[b.state(t).ID]
	leaving := Board{Players, c.state.Rolls["2d"].Lo[c.state.Rolls["2d"].other()]}
	for member := range c.ranked[leaving][ByValue] {
		delete(c.ranked[leaving][ByValue], member)
		break
	}
	b.broken(t, errTorn)
}

func TestADayThatIsMissingIsBuiltAnew(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.days(t, 9, 60)
	b.book.turns(1)
	b.apply(t)
	c := b.memory.copies[b.state(t).ID]
	delete(c.days, c.state.Rolls["2d"].Lo[c.state.Rolls["2d"].other()])
	b.broken(t, errTorn)
}

func TestAMemberThatARollingBoardLacksIsBuiltAnew(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.days(t, 9, 60)
	b.book.turns(1)
	b.apply(t)
	c := b.memory.copies[b.state(t).ID]
	delete(c.boards[Board{Players, Slot("2d", c.state.Rolls["2d"].other())}], "p7")
	b.broken(t, errTorn)
}

// What is read of a copy that moves meanwhile says nothing of it.
func TestBoardsThatMoveWhileTheyAreReadAreNotTorn(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.days(t, 9, 60)
	b.book.turns(1)
	b.apply(t)
	r := b.state(t).Rolls["2d"]
	leaving := r.Lo[r.other()]
	other := appliersOf(b.book, b.memory, b.cfg)
	b.memory.fail = func(method string) error {
		if method != "Members" {
			return nil
		}
		b.memory.fail = b.memory.lost
		b.book.correct(b.book.newest(Players, "p7", leaving))
		return other.Apply(t.Context(), b.cfg.Game)
	}
	if _, err := b.piece(t.Context(), b.cfg, nil); !errors.Is(err, ErrStale) {
		t.Errorf("boards that moved are %v", err)
	}
	b.pieces(t)
	b.exact(t)
}

// slicing stops inside a day that is being taken out of a board of 2d.
func (b *bench) slicing(t *testing.T, crowd int) (day string) {
	t.Helper()
	b.crowd(crowd)
	b.apply(t)
	b.book.turns(1)
	b.apply(t)
	for {
		r := b.state(t).Rolls["2d"]
		if r.Cursor[r.other()] > 0 {
			return r.Lo[r.other()]
		}
		if left, err := b.piece(t.Context(), b.cfg, nil); err != nil || left == nil {
			t.Fatal("no day was stopped inside", err)
		}
	}
}

func TestACorrectionInsideADayBeingTakenOutWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	for _, crowd := range []int{100, 46 * fruitless} { // the second in more slices than there may be fruitless passes
		b := newBench()
		b.cfg.Windows = []Window{All, Day, "2d"}
		b.Applier = appliersOf(b.book, b.memory, b.cfg)
		day := b.slicing(t, crowd)
		b.book.result(Players, "before", 1)
		if !b.book.correct(b.book.newest(Players, "p1", day)) {
			t.Fatal("nothing was corrected")
		}
		b.book.result(Players, "after", 1)
		b.apply(t)
		if at := b.state(t).Mark.Pos; at != int64(len(b.book.rows)) {
			t.Errorf("with a crowd of %d applied to %d of %d", crowd, at, len(b.book.rows))
		}
		b.right(t)
		b.pieces(t)
		b.exact(t)
	}
}

func TestACorrectionOfAnEntryThatLeavesSealsItsDayAnew(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.crowd(5)
	b.book.result(Teams, "t", 3)
	b.book.turns(1)
	b.apply(t)
	day := b.state(t).First
	b.book.correct(b.book.newest(Players, "p2", day))
	b.apply(t)
	sealed, said, err := b.memory.Sealed(t.Context(), b.state(t).Generation, day)
	if err != nil || !said || sealed.Entries[Players] != 4 || sealed.Entries[Teams] != 1 {
		t.Errorf("the day is sealed with %v (%t): %v", sealed.Entries, said, err)
	}
	b.book.turns(1)
	b.apply(t)
	b.pieces(t)
	b.exact(t)
}

func TestADayThatIsNotSummedIsNotRetired(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.book.unsummed = true
	b.days(t, 12, 3)
	if state := b.state(t); state.Oldest != state.First {
		t.Errorf("days are kept from %s on, the first is %s", state.Oldest, state.First)
	}
	b.book.unsummed = false
	b.pieces(t)
	if state := b.state(t); state.Oldest != addDays(state.Mark.Day, -6) {
		t.Errorf("on %s days are kept from %s on", state.Mark.Day, state.Oldest)
	}
	b.right(t)
}

func TestWithoutRollingWindowsTwoDaysStay(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.cfg.Windows = []Window{All, Day}
	b.Applier = appliersOf(b.book, b.memory, b.cfg)
	b.days(t, 5, 3)
	if state := b.state(t); state.Oldest != addDays(state.Mark.Day, -1) {
		t.Errorf("on %s days are kept from %s on", state.Mark.Day, state.Oldest)
	}
	b.right(t)
}

// Who waits for another node goes on when that one has applied the rows.
func TestWhoWaitsIsSparedRowsThatAreApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.apply(t)
		b.book.result(Players, "p", 1)
		other, began := appliersOf(b.book, b.memory, b.cfg), time.Now()
		err := other.alone(t.Context(), b.cfg, func() error {
			done := make(chan error)
			go func() { done <- b.Apply(t.Context(), b.cfg.Game) }()
			time.Sleep(10 * leasePoll)
			select {
			case err := <-done:
				t.Errorf("done before the row was applied: %v", err)
			default:
			}
			if err := other.rows(t.Context(), b.cfg); err != nil {
				return err
			}
			return <-done
		}, nil)
		if err != nil || time.Since(began) >= leaseTTL {
			t.Errorf("it waited for %v: %v", time.Since(began), err)
		}
		if n := testutil.ToFloat64(b.metrics.waits.WithLabelValues(b.cfg.Game)); n < 2 {
			t.Errorf("it waited %v times", n)
		}
	})
}

// Two nodes at one board would give Redis no rest: the one that is passed stops.
func TestOneNodeAtATimeTends(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.days(t, 4, 150)
	b.book.turns(1)
	b.apply(t)
	other := appliersOf(b.book, b.memory, b.cfg)
	left, err := b.piece(t.Context(), b.cfg, nil)
	if err != nil || left == nil {
		t.Fatal("there is nothing to do", err)
	}
	theirs, err := other.piece(t.Context(), b.cfg, nil)
	if err != nil || theirs == nil {
		t.Fatal("there is nothing left to do", err)
	}
	if again, err := b.piece(t.Context(), b.cfg, left); err != nil || again != nil {
		t.Errorf("the first goes on beside the second: %v", err)
	}
	b.crowd(3)
	b.book.turns(1)
	b.apply(t)
	if again, err := other.piece(t.Context(), b.cfg, theirs); err != nil || again == nil {
		t.Errorf("rows and a turn stopped the second: %v", err)
	}
}

// The day's work begins with the turn, not at the next tick.
func TestATurnWakesTheUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench()
		b.days(t, 9, 60)
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- b.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(tendEvery / 2)
		b.book.turns(1)
		b.apply(t)
		time.Sleep(tendEvery / 4)
		synctest.Wait()
		b.exact(t)
	})
}
