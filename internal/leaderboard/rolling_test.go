package leaderboard

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/testenv"
)

// addPlayers adds one match for each of n players.
func (g *testGame) addPlayers(n int) {
	for i := range n {
		g.ledger.addResult(Players, fmt.Sprint("p", i), int64(i%9))
	}
}

// playDays plays some days with many players each. It applies all rows and runs all
// maintenance.
func (g *testGame) playDays(t *testing.T, days, players int) {
	t.Helper()
	for range days {
		g.addPlayers(players)
		g.ledger.startDays(1)
		g.apply(t)
		g.maintain(t)
	}
}

// checkWindows checks that the served board of each window begins with the window's first day,
// and the unserved one with the first day of tomorrow's window.
func (g *testGame) checkWindows(t *testing.T) {
	t.Helper()
	state := g.state(t)
	for window, boards := range state.Rolling {
		windowStart := addDays(state.Watermark.Day, 1-window.Days())
		if boards.FirstDays[boards.Served] != windowStart || boards.FirstDays[boards.unservedIndex()] != addDays(windowStart, 1) || boards.Cursor != [2]int64{} {
			t.Errorf("on %s %s is at %+v", state.Watermark.Day, window, boards)
		}
	}
	g.checkBoards(t)
}

// buildCount returns the number of builds for a reason.
func (g *testGame) buildCount(reason string) float64 {
	return testutil.ToFloat64(g.boards.metrics.builds.WithLabelValues(reason))
}

func TestANewDayIsOneSmallTransaction(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.playDays(t, 9, 60)
	transactionsBefore := fixture.store.transactions
	fixture.store.maxWrites = 0
	fixture.ledger.startDays(1)
	fixture.apply(t)
	if fixture.store.transactions != transactionsBefore+1 || fixture.store.maxWrites > 3 {
		t.Errorf("the start of a day took %d transactions, the largest with %d writes", fixture.store.transactions-transactionsBefore, fixture.store.maxWrites)
	}
	state := fixture.state(t)
	for window, boards := range state.Rolling {
		if boards.FirstDays[boards.Served] != addDays(state.Watermark.Day, 1-window.Days()) {
			t.Errorf("after the start of a day, the served board of %s begins with %s", window, boards.FirstDays[boards.Served])
		}
	}
	fixture.checkBoards(t)
}

func TestMissedDaysAreCaughtUp(t *testing.T) {
	t.Parallel()
	for _, missed := range []int{1, 2, 5, 6} {
		fixture := newGameWithAllBoards(All, Day, "7d")
		fixture.playDays(t, 9, 60)
		buildsBefore := fixture.buildCount(reasonCorrupt)
		fixture.ledger.startDays(missed)
		fixture.addPlayers(3)
		fixture.apply(t)
		fixture.checkBoards(t)
		fixture.maintain(t)
		fixture.checkWindows(t)
		if fixture.buildCount(reasonCorrupt) != buildsBefore {
			t.Errorf("%d missed days of a window of 7 days requested a build", missed)
		}
	}
}

// checkThatRebuildRepairs checks that the next maintenance requests a build, and that the build
// repairs the boards.
func (g *testGame) checkThatRebuildRepairs(t *testing.T, want error) {
	t.Helper()
	if err := g.maintainUntilError(t); !errors.Is(err, want) || !errors.Is(err, errNoBoards) {
		t.Fatalf("the boards are not found corrupt: %v", err)
	}
	if err := g.boards.builder.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := g.buildCount(reasonCorrupt); n != 1 {
		t.Fatalf("%v builds were requested", n)
	}
	g.apply(t)
	g.maintain(t)
	g.checkWindows(t)
}

// maintainUntilError runs maintenance until it fails or has nothing to do.
func (g *testGame) maintainUntilError(t *testing.T) error {
	for {
		isDone, err := g.boards.maintainDaysOnce(t.Context())
		if err != nil || !isDone {
			return err
		}
	}
}

func TestAWindowBehindByItsLengthIsRebuilt(t *testing.T) {
	t.Parallel()
	for _, missed := range []int{8, 30} {
		fixture := newGameWithAllBoards(All, Day, "7d")
		fixture.playDays(t, 9, 60)
		fixture.ledger.startDays(missed)
		fixture.apply(t)
		fixture.checkThatRebuildRepairs(t, errWindowBehind)
	}
}

func TestBoardsAreRebuiltWhenAnEvictedDayLacksAMember(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.playDays(t, 9, 60)
	fixture.ledger.startDays(1)
	fixture.apply(t)
	boardSet := fixture.store.boardSets[fixture.state(t).ID]
	evictedBoard := Board{Players, boardSet.state.Rolling["2d"].FirstDays[boardSet.state.Rolling["2d"].unservedIndex()]}
	for member := range boardSet.rankings[evictedBoard][ByValue] {
		delete(boardSet.rankings[evictedBoard][ByValue], member)
		break
	}
	fixture.checkThatRebuildRepairs(t, errCorrupt)
}

func TestBoardsAreRebuiltWhenARollingBoardLacksAnEntry(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.playDays(t, 9, 60)
	fixture.ledger.startDays(1)
	fixture.apply(t)
	boardSet := fixture.store.boardSets[fixture.state(t).ID]
	delete(boardSet.boards[Board{Players, RollingSpan("2d", boardSet.state.Rolling["2d"].unservedIndex())}], "p7")
	fixture.checkThatRebuildRepairs(t, errCorrupt)
}

// If a board set changes during a read, contradictions do not prove that it is corrupt.
func TestBoardsThatChangeDuringAReadAreNotCorrupt(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *testGame, other *gameBoards, evictedDay string) error{
		"a correction of the day": func(f *testGame, other *gameBoards, evictedDay string) error {
			f.ledger.correct(f.ledger.newestResult(Players, "p7", evictedDay))
			return other.apply(t.Context())
		},
		"the same eviction": func(_ *testGame, other *gameBoards, _ string) error {
			_, err := other.maintainDaysOnce(t.Context())
			return err
		},
	} {
		fixture := newGameWithAllBoards()
		fixture.playDays(t, 9, 60)
		fixture.ledger.startDays(1)
		fixture.apply(t)
		boards := fixture.state(t).Rolling["2d"]
		evictedDay := boards.FirstDays[boards.unservedIndex()]
		otherBoards := newTestApplier(fixture.ledger, fixture.store, fixture.cfg).games[fixture.cfg.Game]
		fixture.store.beforeCall = func(method string) error {
			if method != "ReadMembers" {
				return nil
			}
			fixture.store.beforeCall = fixture.store.afterWrite
			return change(fixture, otherBoards, evictedDay)
		}
		if _, err := fixture.boards.maintainDaysOnce(t.Context()); !errors.Is(err, ErrStale) {
			t.Errorf("%s: maintenance of boards that changed returned %v", name, err)
		}
		if pending := fixture.state(t).PendingBuild; pending != "" {
			t.Errorf("%s: the build %q was requested", name, pending)
		}
		fixture.maintain(t)
		fixture.checkWindows(t)
	}
}

// stopInsideEviction adds a day of many players and stops in the middle of its eviction from
// a board of the window 2d. It returns the day.
func (g *testGame) stopInsideEviction(t *testing.T, players int) (day string) {
	t.Helper()
	g.addPlayers(players)
	g.apply(t)
	g.ledger.startDays(1)
	g.apply(t)
	for {
		boards := g.state(t).Rolling["2d"]
		if boards.Cursor[boards.unservedIndex()] > 0 {
			return boards.FirstDays[boards.unservedIndex()]
		}
		if isDone, err := g.boards.maintainDaysOnce(t.Context()); err != nil || !isDone {
			t.Fatal("no eviction has begun", err)
		}
	}
}

func TestACorrectionOfADayBeingEvictedWaits(t *testing.T) {
	t.Parallel()
	for _, players := range []int{100, 46 * maxFailedTries} { // the eviction of the second number of players needs more than maxFailedTries slices
		fixture := newGameWithAllBoards(All, Day, "2d")
		day := fixture.stopInsideEviction(t, players)
		fixture.ledger.addResult(Players, "before", 1)
		for _, id := range []string{"p8", "p1"} { // p8 has been evicted already, because it ranks first
			if !fixture.ledger.correct(fixture.ledger.newestResult(Players, id, day)) {
				t.Fatal("nothing was corrected")
			}
		}
		fixture.ledger.addResult(Players, "after", 1)
		fixture.apply(t)
		if pos := fixture.state(t).Watermark.Pos; pos != int64(len(fixture.ledger.rows)) {
			t.Errorf("with %d players, rows up to %d of %d are applied", players, pos, len(fixture.ledger.rows))
		}
		fixture.checkBoards(t)
		fixture.maintain(t)
		fixture.checkWindows(t)
		if n := fixture.buildCount(reasonCorrupt); n != 0 {
			t.Errorf("with %d players, %v builds repaired the boards", players, n)
		}
	}
}

// The rows that move an erased player wait for every eviction.
func TestAMoveDuringAnEvictionWaits(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards(All, Day, "2d")
	fixture.stopInsideEviction(t, 100)
	state := fixture.state(t)
	fixture.ledger.erase("p1", "opaque", false)
	rows, _, err := fixture.boards.rowsAfter(t.Context(), state.Watermark, rowsPerRead)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	stateAfter, txs, err := plan(fixture.cfg, 1, state, rows, map[EntryKey]BoardEntry{})
	if !errors.Is(err, errEvictionPending) || len(txs) > 0 || stateAfter.Watermark != state.Watermark {
		t.Errorf("%d transactions to %+v, %v", len(txs), stateAfter.Watermark, err)
	}
	fixture.apply(t)
	fixture.maintain(t)
	fixture.checkBoards(t)
	fixture.checkWindows(t)
}

func TestBoardsOfADayWithoutStoredSumsAreNotDeleted(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.ledger.hasNoSums = true
	fixture.playDays(t, 12, 3)
	if state := fixture.state(t); state.OldestDay != state.FirstDay {
		t.Errorf("the oldest day with boards is %s, the first ledger day %s", state.OldestDay, state.FirstDay)
	}
	fixture.ledger.hasNoSums = false
	fixture.maintain(t)
	if state := fixture.state(t); state.OldestDay != addDays(state.Watermark.Day, -6) {
		t.Errorf("on %s the oldest day with boards is %s", state.Watermark.Day, state.OldestDay)
	}
	fixture.checkBoards(t)
}

func TestWithoutRollingWindowsTheLastTwoDaysHaveBoards(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards(All, Day)
	fixture.playDays(t, 5, 3)
	if state := fixture.state(t); state.OldestDay != addDays(state.Watermark.Day, -1) {
		t.Errorf("on %s the oldest day with boards is %s", state.Watermark.Day, state.OldestDay)
	}
	fixture.checkBoards(t)
}

func TestACorrectionOfADeletedDayNeedsNoBuild(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards(All, Day)
	fixture.playDays(t, 5, 3)
	if !fixture.ledger.correct(fixture.ledger.newestResult(Players, "p1", fixture.state(t).FirstDay)) {
		t.Fatal("nothing was corrected")
	}
	fixture.apply(t)
	if n := fixture.buildCount(reasonCorrupt); n != 0 {
		t.Errorf("%v builds were requested", n)
	}
	fixture.checkBoards(t)
}

// A node that waits for another node's lease continues when the lease is released, long
// before it expires.
func TestAWaitingNodeContinuesWhenTheLeaseIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newGameWithAllBoards()
		fixture.apply(t)
		fixture.ledger.addResult(Players, "p", 1)
		otherBoards, began := newTestApplier(fixture.ledger, fixture.store, fixture.cfg).games[fixture.cfg.Game], time.Now()
		applied := make(chan error, 1)
		err := otherBoards.withLease(t.Context(), otherBoards.applyLease, func() error {
			go func() { applied <- fixture.Apply(t.Context(), fixture.cfg.Game) }()
			time.Sleep(10 * leasePollInterval)
			select {
			case err := <-applied:
				t.Errorf("the waiting node returned before the row was applied: %v", err)
			default:
			}
			return otherBoards.rows.applyAll(t.Context())
		})
		if err := errors.Join(err, <-applied); err != nil || time.Since(began) >= applyLeaseTTL {
			t.Errorf("the waiting node continued after %v with %v", time.Since(began), err)
		}
		if n := testutil.ToFloat64(fixture.boards.metrics.leaseWaits); n < 2 {
			t.Errorf("%v waits are counted, want at least 2", n)
		}
	})
}

// Two nodes that evict from one board at the same time would keep Redis busy without pauses.
func TestOneNodeAtATimeMaintains(t *testing.T) {
	t.Parallel()
	fixture := newGameWithAllBoards()
	fixture.playDays(t, 4, 150)
	fixture.ledger.startDays(1)
	fixture.apply(t)
	rolling, leaseID := fixture.state(t).Rolling, fixture.boards.maintainLease.id
	if hasLease, err := fixture.store.SetLease(t.Context(), leaseID, "another", maintainLeaseTTL); !hasLease || err != nil {
		t.Fatal(hasLease, err)
	}
	if err := fixture.boards.maintainDays(t.Context()); err != nil || !maps.Equal(fixture.state(t).Rolling, rolling) {
		t.Errorf("a node evicts while another one has the lease: %v", err)
	}
	fixture.store.expireLeases()
	if err := fixture.boards.maintainDays(t.Context()); err != nil {
		t.Error(err)
	}
	fixture.checkWindows(t)
	if len(fixture.store.leases) > 0 {
		t.Errorf("the leases %v are left", fixture.store.leases)
	}
}

// Evictions begin when a day starts, not at the next tick of the ticker.
func TestANewDayStartsMaintenanceImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fixture := newGameWithAllBoards()
		fixture.playDays(t, 9, 60)
		testenv.Run(t, fixture.Run)
		time.Sleep(dayCheckInterval / 2)
		fixture.ledger.startDays(1)
		fixture.apply(t)
		time.Sleep(dayCheckInterval / 4)
		synctest.Wait()
		fixture.checkWindows(t)
	})
}

// When a day starts while an eviction is behind, a partly evicted board is not served.
func TestAPartlyEvictedBoardIsNotServed(t *testing.T) {
	t.Parallel()
	boards := RollingBoards{FirstDays: [2]string{"2026-03-01", "2026-03-02"}, Cursor: [2]int64{0, 5}}
	if started := boards.withDayStarted("2026-03-04", 2); started.Served != 0 {
		t.Errorf("the partly evicted board is served: %+v", started)
	}
	boards.Cursor[1] = 0
	if started := boards.withDayStarted("2026-03-04", 2); started.Served != 1 {
		t.Errorf("the board that is less behind is not served: %+v", started)
	}
}
