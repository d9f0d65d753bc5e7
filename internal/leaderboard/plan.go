package leaderboard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
)

// stepWrites bounds the writes of a step, entries and ranking members, and
// sliceWrites those that take a day out of a board, which go on for minutes: so
// that no script takes 5 ms on boards of ten million.
const (
	stepWrites  = 250
	sliceWrites = 125
)

var (
	// ErrLedger means that the ledger's rows cannot be applied: a gap, or a kind of
	// row that a newer version writes. Boards stay where they are.
	ErrLedger = errors.New("ledger rows cannot be applied")

	// errTorn means that boards do not hold what their progress says.
	errTorn = errors.New("the boards are not what they should be")

	// errBehind is an errTorn: a window is behind by its length.
	errBehind = fmt.Errorf("%w: a window is behind by its length", errTorn)
)

// insideError means that a row waits until a day has been taken out of a
// board, which is under way.
type insideError struct{ day string }

func (e insideError) Error() string { return e.day + " is being taken out of a board" }

// planner turns rows into steps. Its boards follow the rows that it took.
type planner struct {
	cfg    Config
	each   int // writes of an entry
	now    int64
	state  State
	boards contents
	open   *draft
	steps  []Step
}

// plan draws up the steps that apply rows, in order, to a copy in that state
// with those contents (all that the rows touch must be given). Every step ends
// with a row, so its watermark says what its boards hold. With an insideError
// the steps apply the rows before the one that waits.
func plan(cfg Config, now int64, state State, rows []Row, held contents) ([]Step, error) {
	p := &planner{cfg: cfg, each: cfg.cost(), now: now, state: state, boards: held}
	for _, r := range rows {
		if r.Pos != p.state.Mark.Pos+1 {
			return nil, fmt.Errorf("%w: game %s: position %d follows %d", ErrLedger, cfg.Game, r.Pos, p.state.Mark.Pos)
		}
		err := p.take(r)
		if errors.As(err, new(insideError)) {
			p.close()
			return p.steps, err
		}
		if err != nil {
			return nil, err
		}
	}
	p.close()
	return p.steps, nil
}

// take adds a row to the open step, or to a new one where it has no room.
func (p *planner) take(r Row) error {
	touched := p.cfg.touched(p.state.Progress, r)
	switch r.Kind {
	case ResultRow:
		p.room(len(touched) * p.each)
		for _, b := range touched {
			p.count(b, r)
		}
	case CorrectionRow:
		if err := p.correct(touched, r); err != nil {
			return err
		}
	case MoveRow:
		if err := p.move(touched, r); err != nil {
			return err
		}
	case TurnRow:
		p.room(1)
		p.turn(r)
	default:
		return fmt.Errorf("%w: game %s: position %d is a %q", ErrLedger, p.cfg.Game, r.Pos, r.Kind)
	}
	p.mark(r)
	return nil
}

// room closes the open step where it has no room for that many writes.
func (p *planner) room(writes int) {
	if p.open != nil && p.open.writes+writes > stepWrites {
		p.close()
	}
	if p.open == nil {
		p.open = newDraft()
	}
	p.open.writes += writes
}

// cost is the writes of an entry.
func (c Config) cost() int { return 1 + 2*len(c.Rankings()) }

// count adds a result to its entry on a board.
func (p *planner) count(b Board, r Row) {
	was := p.boards.entry(b, r.Holder)
	p.put(b, Held{ID: r.Holder, Newest: r.Pos, Parts: was.Parts.Add(r.Parts)})
	p.open.asOf[b] = r.At
}

// correct takes back what a row gave. A day that is being taken out of a board
// holds still until that is done.
func (p *planner) correct(boards []Board, r Row) error {
	for _, roll := range p.state.Rolls {
		if roll.inside(r.Of) {
			return insideError{r.Of}
		}
	}
	p.room(len(boards)*p.each + 1)
	for _, b := range boards {
		after := Held{ID: r.Holder, Newest: r.Newest, Parts: p.boards.entry(b, r.Holder).Parts.Add(r.Parts)}
		if b.Span == r.Of {
			after.Newest = r.NewestOfThatDay
		}
		if !after.Parts.possible() {
			return fmt.Errorf("%w: game %s: position %d takes more from %s on %s than it has", errTorn, p.cfg.Game, r.Pos, r.Holder, b.Span)
		}
		p.put(b, after)
		if b.Span == r.Of && r.Of < p.state.Mark.Day {
			p.open.seals[r.Of] = true
		}
	}
	return nil
}

// turn ends the day that the boards are at.
func (p *planner) turn(r Row) {
	if p.state.Mark.Day == "" {
		return
	}
	if p.cfg.keepsDays() {
		p.open.seals[p.state.Mark.Day] = true
	}
	p.state.Rolls = rollsOn(p.state.Rolls, r.Day)
}

// put makes an entry what it is after a row; without a match it leaves.
func (p *planner) put(b Board, after Held) {
	p.open.touch(b, after.ID, p.boards.entry(b, after.ID))
	p.boards.put(b, after)
}

// mark moves the watermark to a row.
func (p *planner) mark(r Row) {
	p.state.Mark.Pos, p.state.Mark.RowID, p.state.Mark.Day = r.Pos, r.ID, r.Day
	if p.state.First == "" {
		p.state.First, p.state.Oldest, p.state.Rolls = r.Day, r.Day, p.cfg.startRolls(r.Day)
	}
}

// close makes the open draft a step.
func (p *planner) close() {
	if p.open == nil {
		return
	}
	step := p.state.next(p.now)
	step.Changes, step.Seal = p.open.changes(p.cfg, p.boards), p.open.sealed(p.boards)
	p.state.Stamp = step.Stamp
	p.steps = append(p.steps, step)
	p.open = nil
}

// next is a step from a state to the progress that it has by then.
func (s State) next(now int64) Step {
	step := Step{Expect: s.Stamp, Stamp: rand.Text(), Loading: s.Loading, At: now, Progress: s.Progress}
	step.Rolls = maps.Clone(s.Rolls)
	return step
}
