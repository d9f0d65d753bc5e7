package leaderboard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// verify returns the differences that Verify finds.
func (w *testGame) verify(t *testing.T) (VerifyResult, []Difference) {
	t.Helper()
	var found []Difference
	v, err := w.applier.Verify(t.Context(), w.cfg.Game, func(d Difference) { found = append(found, d) })
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if int64(len(found)) != v.Differences {
		t.Errorf("reported are %d differences of %d", len(found), v.Differences)
	}
	return v, found
}

// newPlayedGame returns a game with some days and all kinds of boards.
func newPlayedGame(t *testing.T) *testGame {
	t.Helper()
	w := newTestGame(weightedConfig())
	w.playHistory(newRandom(11), 4, func() {})
	for _, kind := range Kinds() {
		for range 3 {
			w.ledger.addResult(kind, "x", 7) // ranked in every order, on every board
			w.ledger.addResult(kind, "y", 9)
		}
		w.ledger.addResult(kind, "z", 1) // too few questions for some orders
	}
	w.apply(t)
	w.maintain(t)
	return w
}

func TestRightBoardsHaveNoDifferences(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	v, found := w.verify(t)
	if len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if v.Pos != int64(len(w.ledger.rows)) || v.Boards != int64(2*len(w.cfg.coverage(w.servedCopy().state.Progress).boards(Players))) || v.Entries == 0 {
		t.Errorf("verified %+v", v)
	}
}

// corruptions change the entry of x on a board, each in its own way.
var corruptions = map[string]func(c *memoryCopy, b Board){
	"score":             func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Score++ }) },
	"time_ms":           func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.TimeMS-- }) },
	"limit_ms":          func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.LimitMS++ }) },
	"matches":           func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Matches++ }) },
	"asked":             func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Asked++ }) },
	"answered":          func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Answered-- }) },
	"correct":           func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Aggregates.Correct++ }) },
	"newest":            func(c *memoryCopy, b Board) { corruptEntry(c, b, func(h *BoardEntry) { h.Newest-- }) },
	"entry":             func(c *memoryCopy, b Board) { delete(c.boards[b], "x") },
	"entries":           func(c *memoryCopy, b Board) { c.boards[b]["nobody"] = c.boards[b]["x"] },
	"key by value":      func(c *memoryCopy, b Board) { c.ranked[b][ByValue][c.boards[b]["x"].Member()]++ },
	"key by score":      func(c *memoryCopy, b Board) { delete(c.ranked[b][ByScore], c.boards[b]["x"].Member()) },
	"key by time":       func(c *memoryCopy, b Board) { c.ranked[b][ByTime][c.boards[b]["z"].Member()] = 9 },
	"ranked by matches": func(c *memoryCopy, b Board) { c.ranked[b][ByMatches]["0000000000000001:x"] = -9 },
}

func corruptEntry(c *memoryCopy, b Board, change func(*BoardEntry)) {
	h := c.boards[b]["x"]
	change(&h)
	c.boards[b]["x"] = h
}

func TestEveryFaultOfEveryBoardIsFound(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	p := w.servedCopy().state.Progress
	spans := []string{string(All), p.Mark.Day, RollingSpan("2d", 0), RollingSpan("2d", 1), RollingSpan("5d", 0), RollingSpan("5d", 1)}
	for _, kind := range Kinds() {
		for _, span := range spans {
			for what, spoil := range corruptions {
				w.rebuild(t)
				b := Board{kind, span}
				spoil(w.servedCopy(), b)
				_, found := w.verify(t)
				named := func(d Difference) bool { return d.Board == b && d.Field == what && d.Want != d.Have }
				if !slices.ContainsFunc(found, named) {
					t.Errorf("%s of %v: found %v", what, b, found)
				}
				for _, d := range found {
					if d.Board != b {
						t.Errorf("%s of %v: also found %v", what, b, d)
					}
				}
			}
		}
	}
}

func TestADayAndAHolderWithoutRowsAreMissed(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	c := w.servedCopy()
	first := Board{Players, c.state.Oldest}
	want := int64(len(c.boards[first]))
	delete(c.boards, first)
	delete(c.ranked, first)
	_, found := w.verify(t)
	entries := slices.DeleteFunc(slices.Clone(found), func(d Difference) bool { return d.Field != "entry" })
	if want == 0 || int64(len(entries)) != want {
		t.Errorf("%d entries of a lost day: found %v", want, found)
	}
}

func TestNothingIsFoundWhileRowsAreApplied(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	for i := range 3 * verifyPage {
		w.ledger.addResult(Players, fmt.Sprintf("many%d", i), int64(i))
	}
	w.apply(t)
	busy := newTestNode(w.cfg, w.ledger, w.store)
	var goOn sync.WaitGroup
	stop := make(chan struct{})
	goOn.Go(func() {
		for n := int64(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			w.ledger.addResult(Players, fmt.Sprintf("many%d", n%400), n)
			w.ledger.addResult(Teams, "t1", n)
			w.ledger.correct(1 + n*7%w.ledger.rowCount())
			if n%20 == 19 {
				w.ledger.startDays(1)
			}
			if err := busy.applier.Apply(t.Context(), w.cfg.Game); err != nil {
				t.Error(err)
				return
			}
			if err := busy.applier.maintain(t.Context(), w.cfg); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 5 {
		var found []Difference
		_, err := w.applier.Verify(t.Context(), w.cfg.Game, func(d Difference) { found = append(found, d) })
		if err != nil && !errors.Is(err, ErrNotReady) {
			t.Error(err)
		}
		if len(found) > 0 {
			t.Errorf("found %v", found[:min(5, len(found))])
		}
	}
	close(stop)
	goOn.Wait()
}

func TestRowsBetweenBoardsAndLedgerAreNoDifference(t *testing.T) {
	t.Parallel()
	w := newPlayedGame(t)
	size := w.ledger.rowCount()
	w.ledger.beforeSnapshot = func() {
		w.ledger.addResult(Players, "new", 1)
		w.ledger.startDays(1)
		w.ledger.addResult(Teams, "x", 1)
		for pos := range size {
			if w.ledger.rows[pos].Holder == "y" {
				w.ledger.correct(pos + 1)
			}
		}
	}
	if v, found := w.verify(t); len(found) > 0 || v.Pos != size {
		t.Errorf("at %d of %d found %v", v.Pos, size, found)
	}
}

func TestUnservedBoardsAreNotVerified(t *testing.T) {
	t.Parallel()
	w := newTestGame(weightedConfig())
	none := func(d Difference) { t.Errorf("found %v", d) }
	if _, err := w.applier.Verify(t.Context(), w.cfg.Game, none); !errors.Is(err, ErrNotReady) {
		t.Errorf("without boards: %v", err)
	}
	if _, err := w.applier.Verify(t.Context(), "other", none); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("another game: %v", err)
	}
	w = newPlayedGame(t)
	w.ledger.rollBack(int(w.ledger.rowCount()) - 2)
	if _, err := w.applier.Verify(t.Context(), w.cfg.Game, func(Difference) {}); !errors.Is(err, ErrNotReady) {
		t.Errorf("ahead of the ledger: %v", err)
	}
	w = newPlayedGame(t)
	gone := maps.Clone(w.store.copies)
	w.store.beforeCall = func(method string) error {
		if method == "Inspect" {
			clear(w.store.copies)
		}
		return nil
	}
	if _, err := w.applier.Verify(t.Context(), w.cfg.Game, none); !errors.Is(err, ErrNotReady) || len(gone) == 0 {
		t.Errorf("boards lost during Verify: %v", err)
	}
}
