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

// addPlayers adds one match for each of n players.
func (b *applierFixture) addPlayers(n int) {
	for i := range n {
		b.ledger.addResult(Players, fmt.Sprint("p", i), int64(i%9))
	}
}

// playDays plays some days with many players each. It applies all rows and runs all
// maintenance.
func (b *applierFixture) playDays(t *testing.T, days, players int) {
	t.Helper()
	for range days {
		b.addPlayers(players)
		b.ledger.startDays(1)
		b.apply(t)
		b.maintainAll(t)
	}
}

// checkBoards compares every board with the ledger.
func (b *applierFixture) checkBoards(t *testing.T) {
	t.Helper()
	h := &ledgerModel{cfg: b.cfg, ledger: b.ledger, store: b.store}
	h.compareAll(t)
}

// checkWindows checks that all windows begin with the right day, and that tomorrow's
// boards are prepared.
func (b *applierFixture) checkWindows(t *testing.T) {
	t.Helper()
	state := b.state(t)
	for w, r := range state.Rolling {
		first := addDays(state.Mark.Day, 1-w.Days())
		if r.FirstDay[r.Served] != first || r.FirstDay[r.unserved()] != addDays(first, 1) || r.Cursor != [2]int64{} {
			t.Errorf("on %s %s is at %+v", state.Mark.Day, w, r)
		}
	}
	b.checkBoards(t)
}

// buildCount returns the number of builds for a reason.
func (b *applierFixture) buildCount(reason string) float64 {
	return testutil.ToFloat64(b.metrics.builds.WithLabelValues(b.cfg.Game, reason))
}

func TestANewDayIsOneSmallStep(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.playDays(t, 9, 60)
	steps := b.store.steps
	b.store.maxWrites = 0
	b.ledger.startDays(1)
	b.apply(t)
	if b.store.steps != steps+1 || b.store.maxWrites > 3 {
		t.Errorf("the start of a day took %d transactions, the largest with %d writes", b.store.steps-steps, b.store.maxWrites)
	}
	state := b.state(t)
	for w, r := range state.Rolling {
		if r.FirstDay[r.Served] != addDays(state.Mark.Day, 1-w.Days()) {
			t.Errorf("after the start of a day, the served board of %s begins with %s", w, r.FirstDay[r.Served])
		}
	}
	b.checkBoards(t)
}

func TestMissedDaysAreCaughtUp(t *testing.T) {
	t.Parallel()
	for _, missed := range []int{1, 2, 5, 6} {
		b := newApplierFixture()
		b.cfg.Windows = []Window{All, Day, "7d"}
		b.Applier = newTestApplier(b.ledger, b.store, b.cfg)
		b.playDays(t, 9, 60)
		built := b.buildCount(rollBroken)
		b.ledger.startDays(missed)
		b.addPlayers(3)
		b.apply(t)
		b.checkBoards(t)
		b.maintainAll(t)
		b.checkWindows(t)
		if b.buildCount(rollBroken) != built {
			t.Errorf("%d missed days of a window of 7 days requested a build", missed)
		}
	}
}

// checkRebuilt checks that the next maintenance requests a build, and that the build
// repairs the boards.
func (b *applierFixture) checkRebuilt(t *testing.T, want error) {
	t.Helper()
	if err := b.maintainUntilError(t); !errors.Is(err, want) || !errors.Is(err, errNoBoards) {
		t.Fatalf("the boards are not found corrupt: %v", err)
	}
	if n := b.buildCount(rollBroken); n != 1 {
		t.Fatalf("%v builds were requested", n)
	}
	if err := b.build(t.Context(), b.cfg); err != nil {
		t.Fatal(err)
	}
	b.apply(t)
	b.maintainAll(t)
	b.checkWindows(t)
}

func (b *applierFixture) maintainUntilError(t *testing.T) error {
	for {
		left, err := b.maintainOnce(t.Context(), b.cfg, nil)
		if err != nil || left == nil {
			return err
		}
	}
}

func TestAWindowBehindByItsLengthIsRebuilt(t *testing.T) {
	t.Parallel()
	for _, missed := range []int{8, 30} {
		b := newApplierFixture()
		b.cfg.Windows = []Window{All, Day, "7d"}
		b.Applier = newTestApplier(b.ledger, b.store, b.cfg)
		b.playDays(t, 9, 60)
		b.ledger.startDays(missed)
		b.apply(t)
		b.checkRebuilt(t, errBehind)
	}
}

func TestADayThatLacksAnEntryIsRebuilt(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.playDays(t, 9, 60)
	b.ledger.startDays(1)
	b.apply(t)
	c := b.store.copies[b.state(t).ID]
	leaving := Board{Players, c.state.Rolling["2d"].FirstDay[c.state.Rolling["2d"].unserved()]}
	for member := range c.ranked[leaving][ByValue] {
		delete(c.ranked[leaving][ByValue], member)
		break
	}
	b.checkRebuilt(t, errCorrupt)
}

func TestAMissingDayIsRebuilt(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.playDays(t, 9, 60)
	b.ledger.startDays(1)
	b.apply(t)
	c := b.store.copies[b.state(t).ID]
	delete(c.sealedDays, c.state.Rolling["2d"].FirstDay[c.state.Rolling["2d"].unserved()])
	b.checkRebuilt(t, errCorrupt)
}

func TestARollingBoardThatLacksAMemberIsRebuilt(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.playDays(t, 9, 60)
	b.ledger.startDays(1)
	b.apply(t)
	c := b.store.copies[b.state(t).ID]
	delete(c.boards[Board{Players, RollingSpan("2d", c.state.Rolling["2d"].unserved())}], "p7")
	b.checkRebuilt(t, errCorrupt)
}

// If a board set changes during a read, contradictions do not prove that it is corrupt.
func TestBoardsThatMoveWhileTheyAreReadAreNotCorrupt(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.playDays(t, 9, 60)
	b.ledger.startDays(1)
	b.apply(t)
	r := b.state(t).Rolling["2d"]
	leaving := r.FirstDay[r.unserved()]
	other := newTestApplier(b.ledger, b.store, b.cfg)
	b.store.beforeCall = func(method string) error {
		if method != "ReadMembers" {
			return nil
		}
		b.store.beforeCall = b.store.afterWrite
		b.ledger.correct(b.ledger.newestResult(Players, "p7", leaving))
		return other.Apply(t.Context(), b.cfg.Game)
	}
	if _, err := b.maintainOnce(t.Context(), b.cfg, nil); !errors.Is(err, ErrStale) {
		t.Errorf("maintenance of boards that changed returned %v", err)
	}
	b.maintainAll(t)
	b.checkWindows(t)
}

// stopInsideEviction adds a day of many players and stops in the middle of its eviction from
// a board of the window 2d. It returns the day.
func (b *applierFixture) stopInsideDay(t *testing.T, players int) (day string) {
	t.Helper()
	b.addPlayers(players)
	b.apply(t)
	b.ledger.startDays(1)
	b.apply(t)
	for {
		r := b.state(t).Rolling["2d"]
		if r.Cursor[r.unserved()] > 0 {
			return r.FirstDay[r.unserved()]
		}
		if left, err := b.maintainOnce(t.Context(), b.cfg, nil); err != nil || left == nil {
			t.Fatal("no eviction has begun", err)
		}
	}
}

func TestACorrectionOfADayBeingEvictedWaits(t *testing.T) {
	t.Parallel()
	for _, players := range []int{100, 46 * maxFailedTries} { // the second needs more slices than maxFailedTries
		b := newApplierFixture()
		b.cfg.Windows = []Window{All, Day, "2d"}
		b.Applier = newTestApplier(b.ledger, b.store, b.cfg)
		day := b.stopInsideDay(t, players)
		b.ledger.addResult(Players, "before", 1)
		if !b.ledger.correct(b.ledger.newestResult(Players, "p1", day)) {
			t.Fatal("nothing was corrected")
		}
		b.ledger.addResult(Players, "after", 1)
		b.apply(t)
		if at := b.state(t).Mark.Pos; at != int64(len(b.ledger.rows)) {
			t.Errorf("with %d players, rows up to %d of %d are applied", players, at, len(b.ledger.rows))
		}
		b.checkBoards(t)
		b.maintainAll(t)
		b.checkWindows(t)
	}
}

func TestACorrectionThatRemovesAnEntryUpdatesTheSealedDay(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.addPlayers(5)
	b.ledger.addResult(Teams, "t", 3)
	b.ledger.startDays(1)
	b.apply(t)
	day := b.state(t).First
	b.ledger.correct(b.ledger.newestResult(Players, "p2", day))
	b.apply(t)
	sealed, appliedPos, err := b.store.ReadSealedDay(t.Context(), b.state(t).Generation, day)
	if err != nil || !appliedPos || sealed.Sizes[Players] != 4 || sealed.Sizes[Teams] != 1 {
		t.Errorf("the stored sizes of the day are %v (stored: %t): %v", sealed.Sizes, appliedPos, err)
	}
	b.ledger.startDays(1)
	b.apply(t)
	b.maintainAll(t)
	b.checkWindows(t)
}

func TestADayWithoutSumsKeepsItsBoards(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.ledger.hasNoSums = true
	b.playDays(t, 12, 3)
	if state := b.state(t); state.Oldest != state.First {
		t.Errorf("the oldest day with boards is %s, the first ledger day %s", state.Oldest, state.First)
	}
	b.ledger.hasNoSums = false
	b.maintainAll(t)
	if state := b.state(t); state.Oldest != addDays(state.Mark.Day, -6) {
		t.Errorf("on %s the oldest day with boards is %s", state.Mark.Day, state.Oldest)
	}
	b.checkBoards(t)
}

func TestWithoutRollingWindowsTwoDaysStay(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.cfg.Windows = []Window{All, Day}
	b.Applier = newTestApplier(b.ledger, b.store, b.cfg)
	b.playDays(t, 5, 3)
	if state := b.state(t); state.Oldest != addDays(state.Mark.Day, -1) {
		t.Errorf("on %s the oldest day with boards is %s", state.Mark.Day, state.Oldest)
	}
	b.checkBoards(t)
}

// A node that waits for another node continues when that one has applied the rows.
func TestWaitingNodeSkipsRowsThatAreApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newApplierFixture()
		b.apply(t)
		b.ledger.addResult(Players, "p", 1)
		other, began := newTestApplier(b.ledger, b.store, b.cfg), time.Now()
		err := other.withApplyLease(t.Context(), b.cfg, func() error {
			done := make(chan error)
			go func() { done <- b.Apply(t.Context(), b.cfg.Game) }()
			time.Sleep(10 * leasePoll)
			select {
			case err := <-done:
				t.Errorf("done before the row was applied: %v", err)
			default:
			}
			if err := other.applyRows(t.Context(), b.cfg); err != nil {
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

// If two nodes evicted from one board, Redis would have no pauses. So a node stops when
// another one has continued from its state.
func TestOneNodeAtATimeMaintains(t *testing.T) {
	t.Parallel()
	b := newApplierFixture()
	b.playDays(t, 4, 150)
	b.ledger.startDays(1)
	b.apply(t)
	other := newTestApplier(b.ledger, b.store, b.cfg)
	left, err := b.maintainOnce(t.Context(), b.cfg, nil)
	if err != nil || left == nil {
		t.Fatal("there is nothing to do", err)
	}
	theirs, err := other.maintainOnce(t.Context(), b.cfg, nil)
	if err != nil || theirs == nil {
		t.Fatal("there is nothing left to do", err)
	}
	if again, err := b.maintainOnce(t.Context(), b.cfg, left); err != nil || again != nil {
		t.Errorf("the first node continues after the second has evicted: %v", err)
	}
	b.addPlayers(3)
	b.ledger.startDays(1)
	b.apply(t)
	if again, err := other.maintainOnce(t.Context(), b.cfg, theirs); err != nil || again == nil {
		t.Errorf("new rows and a new day stopped the second node: %v", err)
	}
}

// Evictions begin when a day starts, not at the next tick of the ticker.
func TestANewDayWakesMaintenance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newApplierFixture()
		b.playDays(t, 9, 60)
		ended := make(chan error)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { ended <- b.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(maintainInterval / 2)
		b.ledger.startDays(1)
		b.apply(t)
		time.Sleep(maintainInterval / 4)
		synctest.Wait()
		b.checkWindows(t)
	})
}
