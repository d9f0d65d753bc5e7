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

var errCut = errors.New("cut off")

// everyBoard keeps every kind of board.
func everyBoard() Config {
	return Config{
		Game: "demo", Windows: []Window{All, Day, "2d", "3d", "7d"}, Orders: Orders(),
		Weights: Weights{Score: 2, Matches: 1}, MinAnswers: 3, Location: time.UTC,
	}
}

// TestBoardsAreTheLedgersAfterAnyHistory plays random histories of a ledger
// and of appliers that are cut off anywhere, and compares every board with
// what the rows up to its watermark say, after each.
func TestBoardsAreTheLedgersAfterAnyHistory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &history{book: newBook(), memory: newMemory(), cfg: everyBoard()}
		h.start()
		t.Repeat(map[string]func(*rapid.T){
			"":         h.check,
			"results":  h.results,
			"turn":     func(t *rapid.T) { h.book.turns(rapid.SampledFrom([]int{1, 1, 1, 2, 5, 8}).Draw(t, "days")) },
			"correct":  h.correct,
			"erase":    h.erase,
			"apply":    func(t *rapid.T) { h.try(t, h.applier().Apply(t.Context(), h.cfg.Game)) },
			"upkeep":   h.upkeep,
			"crowd":    h.crowd,
			"die":      h.die,
			"meet":     h.meet,
			"summed":   func(t *rapid.T) { h.book.unsummed = rapid.Bool().Draw(t, "not") },
			"cut":      h.cut,
			"restart":  func(*rapid.T) { h.start() },
			"rollback": h.rollBack,
		})
		h.heal()
		h.settle(t)
		h.check(t)
	})
}

type history struct {
	cfg      Config
	book     *book
	memory   *memory
	appliers []*Applier
	next     int
	rolled   int // back, times
	compared struct{ writes, rolled int }
}

// start puts two new appliers in the place of those before, whose leases end.
func (h *history) start() {
	h.heal()
	h.memory.expire()
	h.appliers = []*Applier{appliersOf(h.book, h.memory, h.cfg), appliersOf(h.book, h.memory, h.cfg)}
}

// applier is each of the two by turns.
func (h *history) applier() *Applier {
	h.next++
	return h.appliers[h.next%len(h.appliers)]
}

func (h *history) results(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "results") {
		whose := rapid.SampledFrom([]Kind{Players, Players, Teams}).Draw(t, "whose")
		holder := fmt.Sprint(whose, rapid.IntRange(1, 6).Draw(t, "holder"))
		h.book.result(whose, holder, rapid.Int64Range(0, 9).Draw(t, "score"))
	}
}

func (h *history) correct(t *rapid.T) {
	h.book.correct(rapid.Int64Range(1, int64(len(h.book.rows))).Draw(t, "position"))
}

// erase moves a player's entries to another id, which may have some of its own. A
// node may die in between; boards that came too late to know whose are built anew.
func (h *history) erase(t *rapid.T) {
	h.heal()
	h.try(t, h.applier().Apply(t.Context(), h.cfg.Game))
	from := fmt.Sprint(Players, rapid.IntRange(1, 6).Draw(t, "holder"))
	h.book.erase(from, fmt.Sprint("opaque", rapid.IntRange(1, 2).Draw(t, "id")), rapid.IntRange(0, 4).Draw(t, "wiped") == 0)
	if rapid.Bool().Draw(t, "dies") {
		h.die(t)
	}
	h.try(t, h.applier().Apply(t.Context(), h.cfg.Game))
}

func (h *history) rollBack(t *rapid.T) {
	h.rolled++
	h.book.rollBack(rapid.IntRange(max(1, len(h.book.rows)-5), len(h.book.rows)).Draw(t, "rows left"))
}

// work applies the ledger, or does one piece of upkeep.
func (h *history) work(ctx context.Context, a *Applier, apply bool) error {
	if apply {
		return a.Apply(ctx, h.cfg.Game)
	}
	err := a.alone(ctx, h.cfg, func() error {
		_, err := a.piece(ctx, h.cfg, nil)
		return err
	}, nil)
	if errors.Is(err, errTorn) && !errors.Is(err, errBehind) {
		return errors.New("boards that nobody touched are found torn: " + err.Error())
	}
	if errors.Is(err, errLost) {
		return a.build(ctx, h.cfg)
	}
	return err
}

func (h *history) upkeep(t *rapid.T) { h.try(t, h.work(t.Context(), h.applier(), false)) }

// die has a node work, that dies at some call to the store, before the call
// writes or after it; the others find its leases ended.
func (h *history) die(t *rapid.T) {
	h.heal()
	left, after := rapid.IntRange(0, 25).Draw(t, "calls left"), rapid.Bool().Draw(t, "after it wrote")
	dead := false
	fail := func(now bool) error {
		if dead = dead || now; dead {
			return errCut
		}
		return nil
	}
	h.memory.fail = func(string) error {
		left--
		return fail(left < 0 && !after)
	}
	h.memory.lost = func(string) error { return fail(left < 0) }
	h.try(t, h.work(t.Context(), h.applier(), rapid.Bool().Draw(t, "applies")))
	h.start()
}

// meet has one node lose its leases at some call to the store, and another one
// work right there.
func (h *history) meet(t *rapid.T) {
	h.heal()
	left, other := rapid.IntRange(0, 12).Draw(t, "calls left"), rapid.Bool().Draw(t, "other applies")
	first, second := h.applier(), h.applier()
	h.memory.fail = func(string) error {
		if left--; left == -1 {
			h.memory.expire()
			h.try(t, h.work(t.Context(), second, other))
			h.memory.expire()
		}
		return nil
	}
	h.try(t, h.work(t.Context(), first, rapid.Bool().Draw(t, "applies")))
	h.heal()
}

// crowd is more players than a slice takes.
func (h *history) crowd(t *rapid.T) {
	for i := range rapid.IntRange(40, 130).Draw(t, "players") {
		h.book.result(Players, fmt.Sprint(Players, i), int64(i%7))
	}
}

// cut has the calls of a method fail from some time on, until a restart.
func (h *history) cut(t *rapid.T) {
	method := rapid.SampledFrom([]string{"Commit", "Held", "Members", "Served", "Begin", "Publish"}).Draw(t, "method")
	left := rapid.IntRange(0, 3).Draw(t, "calls left")
	h.memory.fail = func(called string) error {
		if called != method {
			return nil
		}
		if left--; left < 0 {
			return errCut
		}
		return nil
	}
}

func (h *history) heal() {
	h.memory.fail = func(string) error { return nil }
	h.memory.lost = h.memory.fail
}

// try bears only what the history has done itself.
func (h *history) try(t *rapid.T, err error) {
	if err != nil && !errors.Is(err, errCut) && !errors.Is(err, ErrStale) {
		t.Fatal(err)
	}
}

// settle applies all there is, and works until there is nothing to do.
func (h *history) settle(t *rapid.T) {
	a := h.applier()
	if err := a.Apply(t.Context(), h.cfg.Game); err != nil {
		t.Fatal(err)
	}
	for left := (map[Window]Roll{}); left != nil; {
		var err error
		left, err = a.piece(t.Context(), h.cfg, nil)
		if errors.Is(err, errBehind) {
			left, err = map[Window]Roll{}, a.build(t.Context(), h.cfg)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	state, err := h.memory.Served(t.Context(), h.cfg.Game, h.cfg.Form())
	if err != nil || state.Mark.Pos != int64(len(h.book.rows)) {
		t.Fatalf("boards at %d of %d: %v", state.Mark.Pos, len(h.book.rows), err)
	}
	for _, w := range h.cfg.rolling() {
		r := state.Rolls[w]
		if today := state.Mark.Day; r.Lo[r.Served] != addDays(today, 1-w.Days()) || r.Lo[r.other()] != addDays(today, 2-w.Days()) {
			t.Fatalf("on %s the boards of %s begin with %v, served %d", today, w, r.Lo, r.Served)
		}
	}
}

// check compares the boards that are served with the ledger, where it can have
// changed what comes of that: rows that follow on the watermark do not.
func (h *history) check(t *rapid.T) {
	now := struct{ writes, rolled int }{h.memory.writes, h.rolled}
	if now != h.compared {
		h.compareAll(t)
	}
	h.compared = now
}

func (h *history) compareAll(t rapid.TB) {
	state := h.memory.find(h.memory.served, h.cfg.Game, h.cfg.Form())
	if state.Stamp == "" || state.Mark.Day == "" || !h.holds(state.Mark) {
		return
	}
	at, today := state.Mark.Pos, state.Mark.Day
	for _, kind := range Kinds() {
		h.compare(t, Board{kind, string(All)}, h.book.board(at, kind, state.First, today))
		for day := state.Oldest; day <= today; day = addDays(day, 1) {
			h.compare(t, Board{kind, day}, h.book.board(at, kind, day, day))
		}
		for w, r := range state.Rolls {
			if r.Cursor[r.Served] != 0 {
				t.Fatalf("the board of %s that is served is in work: %+v", w, r)
			}
			if first := addDays(today, 1-w.Days()); r.Lo[r.Served] > first {
				t.Fatalf("%s is served from %s on and begins with %s", w, r.Lo[r.Served], first)
			}
			for i, lo := range r.Lo {
				want := h.book.board(at, kind, lo, today)
				h.takeOut(want, h.first(at, kind, lo, r.Cursor[i]))
				h.compare(t, Board{kind, Slot(w, i)}, want)
			}
		}
	}
	h.sealed(t, state)
	if h.memory.faults != nil || h.memory.widest > 600 {
		t.Fatalf("a step of %d writes, faults %q", h.memory.widest, h.memory.faults)
	}
}

// first are the entries of a kind among the first that a day had.
func (h *history) first(at int64, whose Kind, day string, cursor int64) []Held {
	if cursor == 0 {
		return nil
	}
	for _, kind := range Kinds() {
		all := slices.SortedFunc(maps.Values(h.book.board(at, kind, day, day)), func(x, y Held) int {
			byKey := cmp.Compare(Key(ByValue, x.Parts, h.cfg.Weights), Key(ByValue, y.Parts, h.cfg.Weights))
			return cmp.Or(byKey, cmp.Compare(x.Member(), y.Member()))
		})
		taken := min(cursor, int64(len(all)))
		if kind == whose {
			return all[:taken]
		}
		cursor -= taken
	}
	return nil
}

// takeOut is what is left of a board's entries without others.
func (h *history) takeOut(board map[string]Held, gone []Held) {
	for _, g := range gone {
		left := board[g.ID]
		left.Parts = left.Parts.Sub(g.Parts)
		board[g.ID] = left
		if left.Parts.Matches == 0 {
			delete(board, g.ID)
		}
	}
}

// sealed compares what days had when they were over, and that those which have
// left are gone.
func (h *history) sealed(t rapid.TB, state State) {
	c := h.memory.copies[state.ID]
	for day := state.Oldest; day < state.Mark.Day; day = addDays(day, 1) {
		for _, kind := range Kinds() {
			have, said := c.days[day][kind]
			if want := len(h.book.board(state.Mark.Pos, kind, day, day)); !said || have != int64(want) {
				t.Fatalf("%s was sealed with %d of kind %s (%t), not %d", day, have, kind, said, want)
			}
		}
	}
	for b := range c.boards {
		if _, err := time.Parse(time.DateOnly, b.Span); err == nil && b.Span < state.Oldest {
			t.Fatalf("%v is still there; the oldest day is %s", b, state.Oldest)
		}
	}
}

// holds reports whether the ledger still has a watermark's row.
func (h *history) holds(mark Watermark) bool {
	return mark.Pos <= int64(len(h.book.rows)) && h.book.rows[mark.Pos-1].ID == mark.RowID
}

func (h *history) compare(t rapid.TB, b Board, want map[string]Held) {
	c := h.memory.copies[h.memory.served[h.cfg.Form()]]
	have := c.boards[b]
	if len(have) != len(want) || len(want) > 0 && !reflect.DeepEqual(have, want) {
		t.Fatalf("%v holds\n%+v, not\n%+v", b, have, want)
	}
	for _, o := range h.cfg.Rankings() {
		keys := map[string]float64{}
		for _, e := range want {
			if Rankable(o, e.Parts, h.cfg.MinAnswers) {
				keys[e.Member()] = Key(o, e.Parts, h.cfg.Weights)
			}
		}
		if !maps.Equal(keys, c.ranked[b][o]) {
			t.Fatalf("%v ranks by %s\n%v, not\n%v", b, o, c.ranked[b][o], keys)
		}
	}
}
