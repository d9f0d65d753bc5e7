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

// verified returns the differences that Verify finds.
func (w *world) verified(t *testing.T) (Verified, []Difference) {
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

// lived is a game with some days, of which boards hold every kind.
func lived(t *testing.T) *world {
	t.Helper()
	w := newWorld(weighted())
	w.history(seeded(11), 4, func() {})
	for _, whose := range Kinds() {
		for range 3 {
			w.ledger.result(whose, "x", 7) // ranked in every order, on every board
			w.ledger.result(whose, "y", 9)
		}
		w.ledger.result(whose, "z", 1) // asked too little for some
	}
	w.apply(t)
	w.tend(t)
	return w
}

func TestRightBoardsHaveNoDifferences(t *testing.T) {
	t.Parallel()
	w := lived(t)
	v, found := w.verified(t)
	if len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if v.Pos != int64(len(w.ledger.rows)) || v.Boards != int64(2*len(w.cfg.reach(w.served().state.Progress).boards(Players))) || v.Entries == 0 {
		t.Errorf("verified %+v", v)
	}
}

// faults spoil the entry of x on a board, each in its way.
var faults = map[string]func(c *memoryCopy, b Board){
	"score":             func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Parts.Score++ }) },
	"time_ms":           func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Parts.TimeMS-- }) },
	"limit_ms":          func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Parts.LimitMS++ }) },
	"matches":           func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Parts.Matches++ }) },
	"asked":             func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Parts.Asked++ }) },
	"answered":          func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Parts.Answered-- }) },
	"correct":           func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Parts.Correct++ }) },
	"newest":            func(c *memoryCopy, b Board) { spoil(c, b, func(h *Held) { h.Newest-- }) },
	"entry":             func(c *memoryCopy, b Board) { delete(c.boards[b], "x") },
	"entries":           func(c *memoryCopy, b Board) { c.boards[b]["nobody"] = c.boards[b]["x"] },
	"key by value":      func(c *memoryCopy, b Board) { c.ranked[b][ByValue][c.boards[b]["x"].Member()]++ },
	"key by score":      func(c *memoryCopy, b Board) { delete(c.ranked[b][ByScore], c.boards[b]["x"].Member()) },
	"key by time":       func(c *memoryCopy, b Board) { c.ranked[b][ByTime][c.boards[b]["z"].Member()] = 9 },
	"ranked by matches": func(c *memoryCopy, b Board) { c.ranked[b][ByMatches]["0000000000000001:x"] = -9 },
}

func spoil(c *memoryCopy, b Board, change func(*Held)) {
	h := c.boards[b]["x"]
	change(&h)
	c.boards[b]["x"] = h
}

func TestEveryFaultOfEveryBoardIsFound(t *testing.T) {
	t.Parallel()
	w := lived(t)
	p := w.served().state.Progress
	spans := []string{string(All), p.Mark.Day, Slot("2d", 0), Slot("2d", 1), Slot("5d", 0), Slot("5d", 1)}
	for _, whose := range Kinds() {
		for _, span := range spans {
			for what, spoil := range faults {
				w.rebuild(t)
				b := Board{whose, span}
				spoil(w.served(), b)
				_, found := w.verified(t)
				named := func(d Difference) bool { return d.Board == b && d.What == what && d.Want != d.Have }
				if !slices.ContainsFunc(found, named) {
					t.Errorf("%s of %v: found %v", what, b, found)
				}
				for _, d := range found {
					if d.Board != b {
						t.Errorf("%s of %v: found %v besides", what, b, d)
					}
				}
			}
		}
	}
}

func TestADayAndAHolderWithoutRowsAreMissed(t *testing.T) {
	t.Parallel()
	w := lived(t)
	c := w.served()
	first := Board{Players, c.state.Oldest}
	want := int64(len(c.boards[first]))
	delete(c.boards, first)
	delete(c.ranked, first)
	_, found := w.verified(t)
	entries := slices.DeleteFunc(slices.Clone(found), func(d Difference) bool { return d.What != "entry" })
	if want == 0 || int64(len(entries)) != want {
		t.Errorf("%d entries of a lost day: found %v", want, found)
	}
}

func TestNothingIsFoundWhileRowsAreApplied(t *testing.T) {
	t.Parallel()
	w := lived(t)
	for i := range 3 * verifyPage {
		w.ledger.result(Players, fmt.Sprintf("many%d", i), int64(i))
	}
	w.apply(t)
	busy := onStores(w.cfg, w.ledger, w.store)
	var goOn sync.WaitGroup
	stop := make(chan struct{})
	goOn.Go(func() {
		for n := int64(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			w.ledger.result(Players, fmt.Sprintf("many%d", n%400), n)
			w.ledger.result(Teams, "t1", n)
			w.ledger.correct(1 + n*7%w.ledger.size())
			if n%20 == 19 {
				w.ledger.turns(1)
			}
			if err := busy.applier.Apply(t.Context(), w.cfg.Game); err != nil {
				t.Error(err)
				return
			}
			if err := busy.applier.tend(t.Context(), w.cfg); err != nil {
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
	w := lived(t)
	size := w.ledger.size()
	w.ledger.before = func() {
		w.ledger.result(Players, "new", 1)
		w.ledger.turns(1)
		w.ledger.result(Teams, "x", 1)
		for pos := range size {
			if w.ledger.rows[pos].Holder == "y" {
				w.ledger.correct(pos + 1)
			}
		}
	}
	if v, found := w.verified(t); len(found) > 0 || v.Pos != size {
		t.Errorf("at %d of %d found %v", v.Pos, size, found)
	}
}

func TestWhatIsNotServedIsNotVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(weighted())
	none := func(d Difference) { t.Errorf("found %v", d) }
	if _, err := w.applier.Verify(t.Context(), w.cfg.Game, none); !errors.Is(err, ErrNotReady) {
		t.Errorf("without boards: %v", err)
	}
	if _, err := w.applier.Verify(t.Context(), "other", none); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("another game: %v", err)
	}
	w = lived(t)
	w.ledger.rollBack(int(w.ledger.size()) - 2)
	if _, err := w.applier.Verify(t.Context(), w.cfg.Game, func(Difference) {}); !errors.Is(err, ErrNotReady) {
		t.Errorf("ahead of the ledger: %v", err)
	}
	w = lived(t)
	gone := maps.Clone(w.store.copies)
	w.store.fail = func(method string) error {
		if method == "Inspect" {
			clear(w.store.copies)
		}
		return nil
	}
	if _, err := w.applier.Verify(t.Context(), w.cfg.Game, none); !errors.Is(err, ErrNotReady) || len(gone) == 0 {
		t.Errorf("lost under way: %v", err)
	}
}
