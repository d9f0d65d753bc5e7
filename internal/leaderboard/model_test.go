package leaderboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var errInjected = errors.New("injected error")

// allBoardsConfig has every kind of board.
func allBoardsConfig() Config {
	return Config{
		Game: "demo", Windows: []Window{All, Day, "2d", "3d", "7d"}, Orders: Orders(),
		Weights: Weights{Score: 2, Matches: 1}, MinAnswers: 3, Location: time.UTC,
	}
}

// TestBoardsEqualTheLedgerAfterAnyHistory runs random histories of a ledger and of
// appliers that fail at any point. After each action it compares every board with the
// rows up to the board's watermark.
func TestBoardsEqualTheLedgerAfterAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		model := &ledgerModel{ledger: newFakeLedger(), store: newMemoryStore(), cfg: allBoardsConfig()}
		model.restart()
		t.Repeat(map[string]func(*rapid.T){
			"":           model.check,
			"results":    model.addResults,
			"start days": func(t *rapid.T) { model.ledger.startDays(rapid.SampledFrom([]int{1, 1, 1, 2, 5, 8}).Draw(t, "days")) },
			"correct":    model.correct,
			"erase":      model.erase,
			"apply": func(t *rapid.T) {
				model.failOnUnexpectedError(t, model.nextApplier().apply(t.Context()))
			},
			"maintain":     model.maintain,
			"many players": model.addManyPlayers,
			"kill node":    model.killNode,
			"interleave":   model.interleave,
			"toggle sums":  func(t *rapid.T) { model.ledger.hasNoSums = rapid.Bool().Draw(t, "no sums") },
			"fail calls":   model.failCalls,
			"rebuild":      model.rebuild,
			"restart":      func(*rapid.T) { model.restart() },
			"roll back":    model.rollBack,
		})
		model.stopFailing()
		model.applyAll(t)
		model.check(t)
	})
}

// ledgerModel is a ledger, a store and two appliers, on which random actions run.
type ledgerModel struct {
	cfg          Config
	ledger       *fakeLedger
	store        *memoryStore
	appliers     []*gameBoards
	nextIndex    int // nextApplier increases it
	rollbacks    int // number of rollbacks
	lastCompared struct{ writes, rollbacks int }
}

// restart replaces the appliers by two new ones and ends the leases of the old ones.
func (m *ledgerModel) restart() {
	m.stopFailing()
	m.store.expireLeases()
	m.appliers = nil
	for range 2 {
		m.appliers = append(m.appliers, newTestApplier(m.ledger, m.store, m.cfg).games[m.cfg.Game])
	}
}

// nextApplier returns each of the two appliers in turn.
func (m *ledgerModel) nextApplier() *gameBoards {
	m.nextIndex++
	return m.appliers[m.nextIndex%len(m.appliers)]
}

func (m *ledgerModel) addResults(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "results") {
		kind := rapid.SampledFrom([]Kind{Players, Players, Teams}).Draw(t, "kind")
		holder := fmt.Sprint(kind, rapid.IntRange(1, 6).Draw(t, "holder"))
		m.ledger.addResult(kind, holder, rapid.Int64Range(0, 9).Draw(t, "score"))
	}
}

func (m *ledgerModel) correct(t *rapid.T) {
	m.ledger.correct(rapid.Int64Range(1, int64(len(m.ledger.rows))).Draw(t, "position"))
}

// erase moves a player's entries to another id, which may have entries of its own. The
// node may die before it applies the move. Boards that have not applied the move before the
// former id is wiped are rebuilt.
func (m *ledgerModel) erase(t *rapid.T) {
	m.stopFailing()
	m.failOnUnexpectedError(t, m.nextApplier().apply(t.Context()))
	formerID := fmt.Sprint(Players, rapid.IntRange(1, 6).Draw(t, "holder"))
	m.ledger.erase(formerID, fmt.Sprint("opaque", rapid.IntRange(1, 2).Draw(t, "id")), rapid.IntRange(0, 4).Draw(t, "wiped") == 0)
	if rapid.Bool().Draw(t, "node dies") {
		m.killNode(t)
	}
	m.failOnUnexpectedError(t, m.nextApplier().apply(t.Context()))
}

func (m *ledgerModel) rollBack(t *rapid.T) {
	m.rollbacks++
	m.ledger.rollBack(rapid.IntRange(max(1, len(m.ledger.rows)-5), len(m.ledger.rows)).Draw(t, "rows left"))
}

// applyOrMaintain applies the ledger if mustApply is true, else does one transaction of
// maintenance.
func (m *ledgerModel) applyOrMaintain(ctx context.Context, applier *gameBoards, mustApply bool) error {
	if mustApply {
		return applier.apply(ctx)
	}
	err := applier.withLease(ctx, applier.applyLease, func() error {
		_, err := applier.maintainDaysOnce(ctx)
		return err
	})
	if errors.Is(err, errCorrupt) && !errors.Is(err, errWindowBehind) {
		return errors.New("boards are corrupt although nothing damaged them: " + err.Error())
	}
	if errors.Is(err, errNoBoards) {
		return applier.builder.build(ctx)
	}
	return err
}

// rebuild builds a new board set, which replaces the served one.
func (m *ledgerModel) rebuild(t *rapid.T) {
	m.stopFailing()
	applier := m.nextApplier()
	m.failOnUnexpectedError(t, applier.builder.request(t.Context(), reasonRequested))
	m.failOnUnexpectedError(t, applier.builder.build(t.Context()))
}

func (m *ledgerModel) maintain(t *rapid.T) {
	m.failOnUnexpectedError(t, m.applyOrMaintain(t.Context(), m.nextApplier(), false))
}

// killNode runs a node until it dies during a random call to the store, before or after the
// call writes. Its leases end.
func (m *ledgerModel) killNode(t *rapid.T) {
	m.stopFailing()
	callsLeft, afterWrite := rapid.IntRange(0, 25).Draw(t, "calls left"), rapid.Bool().Draw(t, "after it wrote")
	isDead := false
	fail := func(mustFail bool) error {
		if isDead = isDead || mustFail; isDead {
			return errInjected
		}
		return nil
	}
	m.store.beforeCall = func(string) error {
		callsLeft--
		return fail(callsLeft < 0 && !afterWrite)
	}
	m.store.afterWrite = func(string) error { return fail(callsLeft < 0) }
	m.failOnUnexpectedError(t, m.applyOrMaintain(t.Context(), m.nextApplier(), rapid.Bool().Draw(t, "applies")))
	m.restart()
}

// interleave makes one node lose its leases at a random call to the store. At that point it
// runs another node.
func (m *ledgerModel) interleave(t *rapid.T) {
	m.stopFailing()
	callsLeft, secondApplies := rapid.IntRange(0, 12).Draw(t, "calls left"), rapid.Bool().Draw(t, "second applies")
	first, second := m.nextApplier(), m.nextApplier()
	m.store.beforeCall = func(string) error {
		if callsLeft--; callsLeft == -1 {
			m.store.expireLeases()
			m.failOnUnexpectedError(t, m.applyOrMaintain(t.Context(), second, secondApplies))
			m.store.expireLeases()
		}
		return nil
	}
	m.failOnUnexpectedError(t, m.applyOrMaintain(t.Context(), first, rapid.Bool().Draw(t, "applies")))
	m.stopFailing()
}

// addManyPlayers adds so many players that an eviction needs several slices.
func (m *ledgerModel) addManyPlayers(t *rapid.T) {
	for i := range rapid.IntRange(40, 130).Draw(t, "players") {
		m.ledger.addResult(Players, fmt.Sprint(Players, i), int64(i%7))
	}
}

// failCalls makes the calls of a random method fail, after a few that succeed. Calls fail
// until stopFailing.
func (m *ledgerModel) failCalls(t *rapid.T) {
	method := rapid.SampledFrom([]string{"Commit", "ReadEntries", "ReadMembers", "ServedState", "Begin", "Publish"}).Draw(t, "method")
	callsLeft := rapid.IntRange(0, 3).Draw(t, "calls left")
	m.store.beforeCall = func(called string) error {
		if called != method {
			return nil
		}
		if callsLeft--; callsLeft < 0 {
			return errInjected
		}
		return nil
	}
}

func (m *ledgerModel) stopFailing() {
	m.store.beforeCall = func(string) error { return nil }
	m.store.afterWrite = m.store.beforeCall
}

// failOnUnexpectedError fails the test, except for injected errors and ErrStale, which
// concurrent nodes cause.
func (m *ledgerModel) failOnUnexpectedError(t *rapid.T, err error) {
	if err != nil && !errors.Is(err, errInjected) && !errors.Is(err, ErrStale) {
		t.Fatal(err)
	}
}

// applyAll applies all rows, and runs maintenance until there is nothing to do.
func (m *ledgerModel) applyAll(t *rapid.T) {
	applier := m.nextApplier()
	if err := applier.apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	for isDone := true; isDone; {
		var err error
		isDone, err = applier.maintainDaysOnce(t.Context())
		if errors.Is(err, errWindowBehind) {
			isDone, err = true, applier.builder.build(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	state, err := m.store.ServedState(t.Context(), m.cfg.Game, m.cfg.Hash())
	if err != nil || state.Watermark.Pos != int64(len(m.ledger.rows)) {
		t.Fatalf("boards at %d of %d: %v", state.Watermark.Pos, len(m.ledger.rows), err)
	}
	for _, window := range m.cfg.rollingWindows() {
		boards := state.Rolling[window]
		if today := state.Watermark.Day; boards.FirstDays[boards.Served] != addDays(today, 1-window.Days()) || boards.FirstDays[boards.unservedIndex()] != addDays(today, 2-window.Days()) {
			t.Fatalf("on %s the boards of %s begin with %v, served %d", today, window, boards.FirstDays, boards.Served)
		}
	}
}

// check compares the served boards with the ledger, if the store was written or the ledger
// was rolled back since the last call. New rows alone do not change boards.
func (m *ledgerModel) check(t *rapid.T) {
	current := struct{ writes, rollbacks int }{m.store.writeCalls, m.rollbacks}
	if current != m.lastCompared {
		m.compareAll(t)
	}
	m.lastCompared = current
}

func (m *ledgerModel) compareAll(t rapid.TB) {
	state := m.store.stateAt(m.store.served, m.cfg.Game, m.cfg.Hash())
	if state.Version == "" || state.Watermark.Day == "" || !m.hasWatermark(state.Watermark) {
		return
	}
	pos, today := state.Watermark.Pos, state.Watermark.Day
	for _, kind := range Kinds() {
		m.compare(t, Board{kind, string(All)}, m.ledger.expectedBoard(pos, kind, state.FirstDay, today))
		for day := state.OldestDay; day <= today; day = addDays(day, 1) {
			m.compare(t, Board{kind, day}, m.ledger.expectedBoard(pos, kind, day, day))
		}
		for window, boards := range state.Rolling {
			if boards.Cursor[boards.Served] != 0 {
				t.Fatalf("the served board of %s has an unfinished eviction: %+v", window, boards)
			}
			if windowStart := addDays(today, 1-window.Days()); boards.FirstDays[boards.Served] > windowStart {
				t.Fatalf("the served board of %s begins with %s, after the window's first day %s", window, boards.FirstDays[boards.Served], windowStart)
			}
			for i, firstDay := range boards.FirstDays {
				want := m.ledger.expectedBoard(pos, kind, firstDay, today)
				m.subtract(want, m.firstEntries(pos, kind, firstDay, boards.Cursor[i]))
				m.compare(t, Board{kind, RollingSpan(window, i)}, want)
			}
		}
	}
	m.checkDeletedDays(t, state)
	if m.store.maxWrites > 600 {
		t.Fatalf("a transaction has %d writes", m.store.maxWrites)
	}
}

// firstEntries returns the entries of a kind that an eviction of the day has subtracted. The
// cursor is the number of evicted entries, of all kinds in the order of Kinds.
func (m *ledgerModel) firstEntries(pos int64, holderKind Kind, day string, cursor int64) []BoardEntry {
	if cursor == 0 {
		return nil
	}
	for _, kind := range Kinds() {
		all := slices.SortedFunc(maps.Values(m.ledger.expectedBoard(pos, kind, day, day)), func(x, y BoardEntry) int {
			byKey := cmp.Compare(Key(ByValue, x.Aggregates, m.cfg.Weights), Key(ByValue, y.Aggregates, m.cfg.Weights))
			return cmp.Or(byKey, cmp.Compare(x.Member(), y.Member()))
		})
		taken := min(cursor, int64(len(all)))
		if kind == holderKind {
			return all[:taken]
		}
		cursor -= taken
	}
	return nil
}

// subtract subtracts evicted entries from a board's entries.
func (m *ledgerModel) subtract(board map[string]BoardEntry, evicted []BoardEntry) {
	for _, entry := range evicted {
		remaining := board[entry.ID]
		remaining.Aggregates = remaining.Aggregates.Sub(entry.Aggregates)
		board[entry.ID] = remaining
		if remaining.Aggregates.Matches == 0 {
			delete(board, entry.ID)
		}
	}
}

// checkDeletedDays checks that the boards of days before the oldest one are deleted.
func (m *ledgerModel) checkDeletedDays(t rapid.TB, state BoardSetState) {
	for board := range m.store.boardSets[state.ID].boards {
		if _, err := time.Parse(time.DateOnly, board.Span); err == nil && board.Span < state.OldestDay {
			t.Fatalf("%v was not deleted; the oldest day with boards is %s", board, state.OldestDay)
		}
	}
}

// hasWatermark reports whether the ledger has the row of a watermark.
func (m *ledgerModel) hasWatermark(watermark Watermark) bool {
	return watermark.Pos <= int64(len(m.ledger.rows)) && m.ledger.rows[watermark.Pos-1].ID == watermark.RowID
}

func (m *ledgerModel) compare(t rapid.TB, board Board, want map[string]BoardEntry) {
	boardSet := m.store.boardSets[m.store.served[m.cfg.Hash()]]
	have := boardSet.boards[board]
	if len(have) != len(want) || len(want) > 0 && !reflect.DeepEqual(have, want) {
		t.Fatalf("%v holds\n%+v, not\n%+v", board, have, want)
	}
	for _, order := range m.cfg.RankingOrders() {
		keys := map[string]float64{}
		for _, entry := range want {
			if Rankable(order, entry.Aggregates, m.cfg.MinAnswers) {
				keys[entry.Member()] = Key(order, entry.Aggregates, m.cfg.Weights)
			}
		}
		if !maps.Equal(keys, boardSet.rankings[board][order]) {
			t.Fatalf("%v ranks by %s\n%v, not\n%v", board, order, boardSet.rankings[board][order], keys)
		}
	}
}
