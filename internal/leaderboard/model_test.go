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

var errCut = errors.New("injected error")

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
		h := &ledgerModel{ledger: newFakeLedger(), store: newMemoryStore(), cfg: allBoardsConfig()}
		h.restart()
		t.Repeat(map[string]func(*rapid.T){
			"":         h.check,
			"results":  h.addResults,
			"turn":     func(t *rapid.T) { h.ledger.startDays(rapid.SampledFrom([]int{1, 1, 1, 2, 5, 8}).Draw(t, "days")) },
			"correct":  h.correct,
			"erase":    h.erase,
			"apply":    func(t *rapid.T) { h.ignoreOwnErrors(t, h.nextApplier().Apply(t.Context(), h.cfg.Game)) },
			"maintain": h.maintain,
			"players":  h.addManyPlayers,
			"kill":     h.killNode,
			"overlap":  h.interleave,
			"summed":   func(t *rapid.T) { h.ledger.hasNoSums = rapid.Bool().Draw(t, "not") },
			"fail":     h.failCalls,
			"restart":  func(*rapid.T) { h.restart() },
			"rollback": h.rollBack,
		})
		h.stopFailing()
		h.applyAll(t)
		h.check(t)
	})
}

type ledgerModel struct {
	cfg          Config
	ledger       *fakeLedger
	store        *memoryStore
	appliers     []*Applier
	next         int
	rollbacks    int // number of rollbacks
	lastCompared struct{ writes, rollbacks int }
}

// restart replaces the appliers by two new ones and ends the leases of the old ones.
func (h *ledgerModel) restart() {
	h.stopFailing()
	h.store.expireLeases()
	h.appliers = []*Applier{newTestApplier(h.ledger, h.store, h.cfg), newTestApplier(h.ledger, h.store, h.cfg)}
}

// nextApplier returns the two appliers alternately.
func (h *ledgerModel) nextApplier() *Applier {
	h.next++
	return h.appliers[h.next%len(h.appliers)]
}

func (h *ledgerModel) addResults(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "results") {
		kind := rapid.SampledFrom([]Kind{Players, Players, Teams}).Draw(t, "whose")
		holder := fmt.Sprint(kind, rapid.IntRange(1, 6).Draw(t, "holder"))
		h.ledger.addResult(kind, holder, rapid.Int64Range(0, 9).Draw(t, "score"))
	}
}

func (h *ledgerModel) correct(t *rapid.T) {
	h.ledger.correct(rapid.Int64Range(1, int64(len(h.ledger.rows))).Draw(t, "position"))
}

// erase moves a player's entries to another id, which may have entries of its own. The
// node may die before it applies the move. Boards that are too late for the former id
// are rebuilt.
func (h *ledgerModel) erase(t *rapid.T) {
	h.stopFailing()
	h.ignoreOwnErrors(t, h.nextApplier().Apply(t.Context(), h.cfg.Game))
	from := fmt.Sprint(Players, rapid.IntRange(1, 6).Draw(t, "holder"))
	h.ledger.erase(from, fmt.Sprint("opaque", rapid.IntRange(1, 2).Draw(t, "id")), rapid.IntRange(0, 4).Draw(t, "wiped") == 0)
	if rapid.Bool().Draw(t, "dies") {
		h.killNode(t)
	}
	h.ignoreOwnErrors(t, h.nextApplier().Apply(t.Context(), h.cfg.Game))
}

func (h *ledgerModel) rollBack(t *rapid.T) {
	h.rollbacks++
	h.ledger.rollBack(rapid.IntRange(max(1, len(h.ledger.rows)-5), len(h.ledger.rows)).Draw(t, "rows left"))
}

// applyOrMaintain applies the ledger if mustApply is true, else does one transaction of
// maintenance.
func (h *ledgerModel) work(ctx context.Context, a *Applier, apply bool) error {
	if apply {
		return a.Apply(ctx, h.cfg.Game)
	}
	err := a.withApplyLease(ctx, h.cfg, func() error {
		_, err := a.maintainOnce(ctx, h.cfg, nil)
		return err
	}, nil)
	if errors.Is(err, errCorrupt) && !errors.Is(err, errBehind) {
		return errors.New("boards that no fault has touched are corrupt: " + err.Error())
	}
	if errors.Is(err, errNoBoards) {
		return a.build(ctx, h.cfg)
	}
	return err
}

func (h *ledgerModel) maintain(t *rapid.T) {
	h.ignoreOwnErrors(t, h.work(t.Context(), h.nextApplier(), false))
}

// killNode lets a node work until it dies at some call to the store, before or after the
// call writes. Its leases end.
func (h *ledgerModel) killNode(t *rapid.T) {
	h.stopFailing()
	callsLeft, afterWrite := rapid.IntRange(0, 25).Draw(t, "calls left"), rapid.Bool().Draw(t, "after it wrote")
	isDead := false
	fail := func(mustFail bool) error {
		if isDead = isDead || mustFail; isDead {
			return errCut
		}
		return nil
	}
	h.store.beforeCall = func(string) error {
		callsLeft--
		return fail(callsLeft < 0 && !afterWrite)
	}
	h.store.afterWrite = func(string) error { return fail(callsLeft < 0) }
	h.ignoreOwnErrors(t, h.work(t.Context(), h.nextApplier(), rapid.Bool().Draw(t, "applies")))
	h.restart()
}

// interleave lets one node lose its leases at some call to the store, and another node
// work at that point.
func (h *ledgerModel) interleave(t *rapid.T) {
	h.stopFailing()
	callsLeft, other := rapid.IntRange(0, 12).Draw(t, "calls left"), rapid.Bool().Draw(t, "other applies")
	first, second := h.nextApplier(), h.nextApplier()
	h.store.beforeCall = func(string) error {
		if callsLeft--; callsLeft == -1 {
			h.store.expireLeases()
			h.ignoreOwnErrors(t, h.work(t.Context(), second, other))
			h.store.expireLeases()
		}
		return nil
	}
	h.ignoreOwnErrors(t, h.work(t.Context(), first, rapid.Bool().Draw(t, "applies")))
	h.stopFailing()
}

// addManyPlayers adds more players than one slice of an eviction has.
func (h *ledgerModel) addManyPlayers(t *rapid.T) {
	for i := range rapid.IntRange(40, 130).Draw(t, "players") {
		h.ledger.addResult(Players, fmt.Sprint(Players, i), int64(i%7))
	}
}

// failCalls makes the calls of a method fail from some time on, until a restart.
func (h *ledgerModel) failCalls(t *rapid.T) {
	method := rapid.SampledFrom([]string{"Commit", "ReadEntries", "ReadMembers", "ServedState", "Begin", "Publish"}).Draw(t, "method")
	callsLeft := rapid.IntRange(0, 3).Draw(t, "calls left")
	h.store.beforeCall = func(called string) error {
		if called != method {
			return nil
		}
		if callsLeft--; callsLeft < 0 {
			return errCut
		}
		return nil
	}
}

func (h *ledgerModel) stopFailing() {
	h.store.beforeCall = func(string) error { return nil }
	h.store.afterWrite = h.store.beforeCall
}

// failOnUnexpectedError fails the test for errors that the model has not caused.
func (h *ledgerModel) ignoreOwnErrors(t *rapid.T, err error) {
	if err != nil && !errors.Is(err, errCut) && !errors.Is(err, ErrStale) {
		t.Fatal(err)
	}
}

// applyAll applies all rows, and runs maintenance until there is nothing to do.
func (h *ledgerModel) applyAll(t *rapid.T) {
	a := h.nextApplier()
	if err := a.Apply(t.Context(), h.cfg.Game); err != nil {
		t.Fatal(err)
	}
	for left := (map[Window]RollingBoards{}); left != nil; {
		var err error
		left, err = a.maintainOnce(t.Context(), h.cfg, nil)
		if errors.Is(err, errBehind) {
			left, err = map[Window]RollingBoards{}, a.build(t.Context(), h.cfg)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	state, err := h.store.ServedState(t.Context(), h.cfg.Game, h.cfg.Hash())
	if err != nil || state.Mark.Pos != int64(len(h.ledger.rows)) {
		t.Fatalf("boards at %d of %d: %v", state.Mark.Pos, len(h.ledger.rows), err)
	}
	for _, w := range h.cfg.rollingWindows() {
		r := state.Rolling[w]
		if today := state.Mark.Day; r.FirstDay[r.Served] != addDays(today, 1-w.Days()) || r.FirstDay[r.unserved()] != addDays(today, 2-w.Days()) {
			t.Fatalf("on %s the boards of %s begin with %v, served %d", today, w, r.FirstDay, r.Served)
		}
	}
}

// check compares the served boards with the ledger if the store or the ledger's past has
// changed. New rows alone change nothing.
func (h *ledgerModel) check(t *rapid.T) {
	now := struct{ writes, rollbacks int }{h.store.writes, h.rollbacks}
	if now != h.lastCompared {
		h.compareAll(t)
	}
	h.lastCompared = now
}

func (h *ledgerModel) compareAll(t rapid.TB) {
	state := h.store.stateOf(h.store.served, h.cfg.Game, h.cfg.Hash())
	if state.Version == "" || state.Mark.Day == "" || !h.hasMark(state.Mark) {
		return
	}
	pos, today := state.Mark.Pos, state.Mark.Day
	for _, kind := range Kinds() {
		h.compare(t, Board{kind, string(All)}, h.ledger.expectedBoard(pos, kind, state.First, today))
		for day := state.Oldest; day <= today; day = addDays(day, 1) {
			h.compare(t, Board{kind, day}, h.ledger.expectedBoard(pos, kind, day, day))
		}
		for w, r := range state.Rolling {
			if r.Cursor[r.Served] != 0 {
				t.Fatalf("the served board of %s has an unfinished eviction: %+v", w, r)
			}
			if first := addDays(today, 1-w.Days()); r.FirstDay[r.Served] > first {
				t.Fatalf("the served board of %s begins with %s, after the window's first day %s", w, r.FirstDay[r.Served], first)
			}
			for i, firstDay := range r.FirstDay {
				want := h.ledger.expectedBoard(pos, kind, firstDay, today)
				h.subtract(want, h.firstEntries(pos, kind, firstDay, r.Cursor[i]))
				h.compare(t, Board{kind, RollingSpan(w, i)}, want)
			}
		}
	}
	h.checkSealedDays(t, state)
	if h.store.faults != nil || h.store.maxWrites > 600 {
		t.Fatalf("a transaction has %d writes; contradictions %q", h.store.maxWrites, h.store.faults)
	}
}

// firstEntries returns the entries of a kind among the first entries of a day, up to the
// cursor.
func (h *ledgerModel) firstEntries(pos int64, holderKind Kind, day string, cursor int64) []BoardEntry {
	if cursor == 0 {
		return nil
	}
	for _, kind := range Kinds() {
		all := slices.SortedFunc(maps.Values(h.ledger.expectedBoard(pos, kind, day, day)), func(x, y BoardEntry) int {
			byKey := cmp.Compare(Key(ByValue, x.Aggregates, h.cfg.Weights), Key(ByValue, y.Aggregates, h.cfg.Weights))
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
func (h *ledgerModel) subtract(board map[string]BoardEntry, evicted []BoardEntry) {
	for _, entry := range evicted {
		remaining := board[entry.ID]
		remaining.Aggregates = remaining.Aggregates.Sub(entry.Aggregates)
		board[entry.ID] = remaining
		if remaining.Aggregates.Matches == 0 {
			delete(board, entry.ID)
		}
	}
}

// checkDaySizes checks the stored sizes of past days, and that the boards of older days are
// deleted.
func (h *ledgerModel) checkSealedDays(t rapid.TB, state State) {
	c := h.store.copies[state.ID]
	for day := state.Oldest; day < state.Mark.Day; day = addDays(day, 1) {
		for _, kind := range Kinds() {
			have, isSealed := c.sealedDays[day][kind]
			if want := len(h.ledger.expectedBoard(state.Mark.Pos, kind, day, day)); !isSealed || have != int64(want) {
				t.Fatalf("%s has the stored size %d for kind %s (stored: %t), not %d", day, have, kind, isSealed, want)
			}
		}
	}
	for b := range c.boards {
		if _, err := time.Parse(time.DateOnly, b.Span); err == nil && b.Span < state.Oldest {
			t.Fatalf("%v was not deleted; the oldest day with boards is %s", b, state.Oldest)
		}
	}
}

// hasMark reports whether the ledger has the row of a watermark.
func (h *ledgerModel) hasMark(mark Watermark) bool {
	return mark.Pos <= int64(len(h.ledger.rows)) && h.ledger.rows[mark.Pos-1].ID == mark.RowID
}

func (h *ledgerModel) compare(t rapid.TB, b Board, want map[string]BoardEntry) {
	c := h.store.copies[h.store.served[h.cfg.Hash()]]
	have := c.boards[b]
	if len(have) != len(want) || len(want) > 0 && !reflect.DeepEqual(have, want) {
		t.Fatalf("%v holds\n%+v, not\n%+v", b, have, want)
	}
	for _, o := range h.cfg.Rankings() {
		keys := map[string]float64{}
		for _, e := range want {
			if Rankable(o, e.Aggregates, h.cfg.MinAnswers) {
				keys[e.Member()] = Key(o, e.Aggregates, h.cfg.Weights)
			}
		}
		if !maps.Equal(keys, c.ranked[b][o]) {
			t.Fatalf("%v ranks by %s\n%v, not\n%v", b, o, c.ranked[b][o], keys)
		}
	}
}
