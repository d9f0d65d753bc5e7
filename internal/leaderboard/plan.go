package leaderboard

import (
	"crypto/rand"
	"errors"
	"fmt"
)

// stepWrites bounds the writes of a step: entries and ranking members.
const stepWrites = 500

// ErrLedger means that the ledger's rows cannot be applied: a gap, or a kind of
// row that a newer version writes. Boards stay where they are.
var ErrLedger = errors.New("ledger rows cannot be applied")

// boardsOf lists the boards that a row counts on.
func (c Config) boardsOf(r Row) []Board {
	if r.Kind != ResultRow {
		return nil
	}
	var boards []Board
	for _, w := range c.Served() {
		span := string(w)
		if w == Day {
			span = r.Day
		}
		boards = append(boards, Board{Kind: Players, Span: span})
	}
	return boards
}

// wants names every entry that rows touch, once.
func (c Config) wants(rows []Row) []Want {
	var wants []Want
	at := map[Board]int{}
	seen := map[spot]bool{}
	for _, r := range rows {
		for _, b := range c.boardsOf(r) {
			if seen[spot{b, r.Player}] {
				continue
			}
			seen[spot{b, r.Player}] = true
			if _, known := at[b]; !known {
				at[b] = len(wants)
				wants = append(wants, Want{Board: b})
			}
			wants[at[b]].IDs = append(wants[at[b]].IDs, r.Player)
		}
	}
	return wants
}

// entries are what boards hold, by board and id.
type entries map[Board]map[string]Held

// planner turns rows into steps. Its entries follow the rows that it took.
type planner struct {
	cfg     Config
	now     int64
	state   State
	entries entries
	open    *draft
	steps   []Step
}

// draft is the step being drawn up: the entries that it changes, as they were
// before it.
type draft struct {
	before entries
	order  []spot // in which they were first touched
	asOf   map[Board]int64
	drop   []Board
	writes int
}

type spot struct {
	board Board
	id    string
}

// plan draws up the steps that apply rows, in order, to a copy in that state
// with those entries (all that the rows touch must be given). Every step ends
// with a row, so its watermark says what its boards hold.
func plan(cfg Config, now int64, state State, rows []Row, held entries) ([]Step, error) {
	p := &planner{cfg: cfg, now: now, state: state, entries: held}
	for _, r := range rows {
		if r.Pos != p.state.Mark.Pos+1 {
			return nil, fmt.Errorf("%w: game %s: position %d follows %d", ErrLedger, cfg.Game, r.Pos, p.state.Mark.Pos)
		}
		if err := p.take(r); err != nil {
			return nil, err
		}
	}
	p.close()
	return p.steps, nil
}

// take adds a row to the open step, or to a new one where it has no room.
func (p *planner) take(r Row) error {
	if r.Kind != ResultRow && r.Kind != TurnRow {
		return fmt.Errorf("%w: game %s: position %d is a %q", ErrLedger, p.cfg.Game, r.Pos, r.Kind)
	}
	boards := p.cfg.boardsOf(r)
	cost := len(boards) * (1 + 2*len(p.cfg.Rankings()))
	if p.open != nil && p.open.writes+cost > stepWrites {
		p.close()
	}
	if p.open == nil {
		p.open = &draft{before: entries{}, asOf: map[Board]int64{}}
	}
	p.open.writes += cost
	for _, b := range boards {
		p.count(b, r)
	}
	if r.Kind == TurnRow {
		p.open.drop = append(p.open.drop, Board{Kind: Players, Span: addDays(r.Day, -KeepDays)})
	}
	p.mark(r)
	return nil
}

// count adds a row to its entry on a board.
func (p *planner) count(b Board, r Row) {
	if p.entries[b] == nil {
		p.entries[b] = map[string]Held{}
	}
	was := p.entries[b][r.Player]
	if p.open.before[b] == nil {
		p.open.before[b] = map[string]Held{}
	}
	if _, touched := p.open.before[b][r.Player]; !touched {
		p.open.before[b][r.Player] = was
		p.open.order = append(p.open.order, spot{b, r.Player})
	}
	p.entries[b][r.Player] = Held{ID: r.Player, Newest: r.Pos, Parts: was.Parts.Add(r.Parts)}
	p.open.asOf[b] = r.At
}

func (p *planner) mark(r Row) {
	p.state.Mark.Pos, p.state.Mark.RowID, p.state.Mark.Day = r.Pos, r.ID, r.Day
	if p.state.First == "" {
		p.state.First = r.Day
	}
}

// close makes the open draft a step.
func (p *planner) close() {
	if p.open == nil {
		return
	}
	step := Step{
		Expect: p.state.Stamp, Stamp: rand.Text(),
		Mark: p.state.Mark, First: p.state.First, At: p.now,
		Changes: p.changes(), Drop: p.open.drop,
	}
	p.state.Stamp = step.Stamp
	p.steps = append(p.steps, step)
	p.open = nil
}

// changes gathers a draft's entries by board, boards in the order of their
// first touch.
func (p *planner) changes() []Change {
	var out []Change
	at := map[Board]int{}
	for _, e := range p.open.order {
		i, known := at[e.board]
		if !known {
			i = len(out)
			at[e.board] = i
			out = append(out, Change{
				Board: e.board, AsOf: p.open.asOf[e.board],
				Out: map[Order][]string{}, In: map[Order][]Ranked{},
			})
		}
		p.cfg.change(&out[i], p.open.before[e.board][e.id], p.entries[e.board][e.id])
	}
	return out
}

// change writes what one entry's step from before to after means: before is
// the zero Held for a new entry.
func (c Config) change(to *Change, before, after Held) {
	to.Put = append(to.Put, after)
	for _, o := range c.Rankings() {
		if before.Newest > 0 && Rankable(o, before.Parts, c.MinAnswers) {
			to.Out[o] = append(to.Out[o], before.Member())
		}
		if Rankable(o, after.Parts, c.MinAnswers) {
			to.In[o] = append(to.In[o], Ranked{Key: Key(o, after.Parts, c.Weights), Member: after.Member()})
		}
	}
}
