package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

const emptyDays = 400 // that are passed in one step

// takeOut takes the next slice of a day out of a window's board that is not
// served, or has it pass days without entries. It returns the rolls that it
// left; nil: no window has such work.
func (a *Applier) takeOut(ctx context.Context, cfg Config, state State) (map[Window]Roll, error) {
	for _, w := range cfg.rolling() {
		if r, known := state.Rolls[w]; known && r.due(state.Mark.Day, w.Days()) {
			return a.takeSlice(ctx, cfg, state, w)
		}
	}
	return nil, nil
}

// finish takes a day out of every board that it is being taken out of, to its
// end, and keeps the duty to apply meanwhile.
func (a *Applier) finish(ctx context.Context, cfg Config, day string) error {
	for {
		state, err := a.store.Served(ctx, cfg.Game, cfg.Form())
		if err != nil {
			return err
		}
		w, under := cfg.takingOut(state.Rolls, day)
		if !under {
			return nil
		}
		if _, err := a.takeSlice(ctx, cfg, state, w); err != nil {
			return err
		}
		if err := a.renew(ctx, applyDuty(cfg), leaseTTL); err != nil {
			return err
		}
	}
}

// takingOut is a window from a board of which a day is being taken out.
func (c Config) takingOut(rolls map[Window]Roll, day string) (w Window, under bool) {
	for _, w := range c.rolling() {
		if rolls[w].inside(day) {
			return w, true
		}
	}
	return "", false
}

// takeSlice commits the next slice of a window. errLost: there is none to
// take, since the copy is of no use.
func (a *Applier) takeSlice(ctx context.Context, cfg Config, state State, w Window) (map[Window]Roll, error) {
	step, err := a.slice(ctx, cfg, state, w)
	if errors.Is(err, errTorn) {
		return nil, a.condemn(ctx, cfg, state, err)
	}
	if err != nil {
		return nil, err
	}
	if err := a.store.Commit(ctx, state.Generation, []Step{step}); err != nil {
		return nil, err
	}
	a.metrics.slices.WithLabelValues(cfg.Game).Inc()
	return step.Rolls, nil
}

// slice is the step that takes the next entries of a window's leaving day out
// of the board that is not served.
func (a *Applier) slice(ctx context.Context, cfg Config, state State, w Window) (Step, error) {
	r := state.Rolls[w]
	if after, passed := r.passEmpty(state.Progress, w.Days()); passed {
		return state.rolled(a.now(), w, after), nil
	}
	leaving := r.Lo[r.other()]
	sealed, known, err := a.store.Sealed(ctx, state.Generation, leaving)
	if err != nil {
		return Step{}, err
	}
	if !known {
		return Step{}, fmt.Errorf("%w: game %s does not say what %s had", errTorn, cfg.Game, leaving)
	}
	next := cfg.part(sealed, r.Cursor[r.other()])
	if next.limit == 0 {
		return state.rolled(a.now(), w, r.past(state.Mark.Day, w.Days())), nil
	}
	v := View{Game: cfg.Game, Form: cfg.Form(), Board: Board{next.kind, leaving}, Ranking: cfg.Ranking(ByValue)}
	members, err := a.store.Members(ctx, state.Generation, v, next.from, next.limit)
	if err != nil {
		return Step{}, err
	}
	if len(members) != next.limit {
		return Step{}, fmt.Errorf("%w: game %s: %s has %d of %d entries from %d on", errTorn, cfg.Game, leaving, len(members), next.limit, next.from)
	}
	return a.subtract(ctx, cfg, state, out{w, next, members})
}

// passEmpty moves the other board over days before the ledger's first. It
// reports false where the next day is none of them.
func (r Roll) passEmpty(p Progress, n int) (after Roll, passed bool) {
	for range emptyDays {
		if !r.due(p.Mark.Day, n) || r.Lo[r.other()] >= p.First {
			break
		}
		r, passed = r.past(p.Mark.Day, n), true
	}
	return r, passed
}

// part is which entries of a day come next: of one kind, by index in a
// ranking of them all. It is the last one where nothing of the day is left then.
type part struct {
	kind  Kind
	from  int64
	limit int
	last  bool
}

// part is the one at a cursor, which counts on through the kinds.
func (c Config) part(s Sealed, cursor int64) part {
	left := -cursor
	for _, kind := range Kinds() {
		left += s.Entries[kind]
	}
	for _, kind := range Kinds() {
		if n := s.Entries[kind]; cursor < n {
			limit := min(n-cursor, int64(sliceWrites/c.cost()))
			return part{kind, cursor, int(limit), limit == left}
		}
		cursor -= s.Entries[kind]
	}
	return part{}
}

// out is a slice to take out of a window's other board.
type out struct {
	window Window
	part
	members []Held
}

// subtract is the step of a slice whose members are known.
func (a *Applier) subtract(ctx context.Context, cfg Config, state State, o out) (Step, error) {
	r := state.Rolls[o.window]
	board := Board{o.kind, Slot(o.window, r.other())}
	wants := []Want{{Board: board}}
	for _, m := range o.members {
		wants[0].IDs = append(wants[0].IDs, m.ID)
	}
	held, err := a.store.Held(ctx, state.Generation, wants)
	if err != nil {
		return Step{}, err
	}
	now, draft := contentsOf(wants, held), newDraft()
	for _, m := range o.members {
		was := now.entry(board, m.ID)
		after := Held{ID: m.ID, Newest: was.Newest, Parts: was.Parts.Sub(m.Parts)}
		if !after.Parts.possible() {
			return Step{}, fmt.Errorf("%w: game %s: %s has less in %s than it had on the day that leaves", errTorn, cfg.Game, m.ID, board.Span)
		}
		draft.touch(board, m.ID, was)
		now.put(board, after)
	}
	r.Cursor[r.other()] += int64(len(o.members))
	if o.last {
		r = r.past(state.Mark.Day, o.window.Days())
	}
	step := state.rolled(a.now(), o.window, r)
	step.Changes = draft.changes(cfg, now)
	return step, nil
}

// rolled is a step that changes one roll, and entries as the caller adds.
func (s State) rolled(now int64, w Window, r Roll) Step {
	s.Rolls = maps.Clone(s.Rolls)
	s.Rolls[w] = r
	return s.next(now)
}
