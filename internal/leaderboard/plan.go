package leaderboard

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
)

// Maximum numbers of writes per transaction. Each changed entry, added member and removed
// member is one write. Evictions have a lower maximum because they run for minutes. With
// these limits each script takes less than 5 ms on boards of ten million entries.
const (
	stepWrites     = 250
	evictionWrites = 125
)

var (
	// ErrInvalidRows means that the ledger's rows cannot be applied: there is a gap, or a
	// row of a kind that only a newer program knows. The boards do not change.
	ErrLedger = errors.New("ledger rows cannot be applied")

	// errCorrupt means that the entries of boards contradict their progress.
	errCorrupt = errors.New("the boards contradict their progress")

	// errWindowBehind is an errCorrupt: the served board of a rolling window is behind by
	// the window's length.
	errBehind = fmt.Errorf("%w: a rolling window is behind by its length", errCorrupt)
)

// evictionPendingError means that a row has to wait until the eviction of a day is
// finished.
type dayEvictingError struct{ day string }

func (e dayEvictingError) Error() string { return e.day + " is being evicted from a board" }

// planner turns rows into transactions. Its state and entries are those after the rows
// planned so far.
type planner struct {
	cfg            Config
	writesPerEntry int // writes that a change of one entry needs
	now            int64
	state          State
	contents       contents
	batch          *writeBatch // the open transaction; nil: none
	steps          []Step
}

// plan returns the transactions that apply rows, in order, to a board set with the given
// state. entries must have all entries that the rows change. Each transaction ends with a
// whole row, so its watermark says exactly which rows the boards hold. If the error is an
// evictionPendingError, the transactions apply the rows before the one that has to wait.
func plan(cfg Config, now int64, state State, rows []Row, held contents) ([]Step, error) {
	p := &planner{cfg: cfg, writesPerEntry: cfg.writesPerEntry(), now: now, state: state, contents: held}
	for _, r := range rows {
		if r.Pos != p.state.Mark.Pos+1 {
			return nil, fmt.Errorf("%w: game %s: position %d follows %d", ErrLedger, cfg.Game, r.Pos, p.state.Mark.Pos)
		}
		err := p.applyRow(r)
		if errors.As(err, new(dayEvictingError)) {
			p.closeStep()
			return p.steps, err
		}
		if err != nil {
			return nil, err
		}
	}
	p.closeStep()
	return p.steps, nil
}

// applyRow adds a row to the open transaction, or to a new one if the open one is full.
func (p *planner) applyRow(r Row) error {
	boards := p.cfg.changedBoards(p.state.Progress, r)
	switch r.Kind {
	case ResultRow:
		p.reserve(len(boards) * p.writesPerEntry)
		for _, b := range boards {
			p.addResult(b, r)
		}
	case CorrectionRow:
		if err := p.applyCorrection(boards, r); err != nil {
			return err
		}
	case MoveRow:
		if err := p.applyMove(boards, r); err != nil {
			return err
		}
	case DayStartRow:
		p.reserve(1)
		p.endDay(r)
	default:
		return fmt.Errorf("%w: game %s: the row at position %d has the unknown kind %q", ErrLedger, p.cfg.Game, r.Pos, r.Kind)
	}
	p.advanceMark(r)
	return nil
}

// reserveWrites makes sure that the open transaction has room for a number of writes. If
// the open transaction is too full, it closes that one and opens another.
func (p *planner) reserve(writes int) {
	if p.batch != nil && p.batch.writes+writes > stepWrites {
		p.closeStep()
	}
	if p.batch == nil {
		p.batch = newWriteBatch()
	}
	p.batch.writes += writes
}

// writesPerEntry returns the maximum number of writes for a change of one entry: one for
// the entry, and two per ranking, for a removed and an added member.
func (c Config) writesPerEntry() int { return 1 + 2*len(c.Rankings()) }

// addResult adds a result to its holder's entry on a board.
func (p *planner) addResult(b Board, r Row) {
	before := p.contents.entry(b, r.Holder)
	p.setEntry(b, BoardEntry{ID: r.Holder, Newest: r.Pos, Aggregates: before.Aggregates.Add(r.Aggregates)})
	p.batch.asOf[b] = r.CommittedAt
}

// applyCorrection subtracts a result. A day with an unfinished eviction must not change,
// so a correction of its results has to wait.
func (p *planner) applyCorrection(boards []Board, r Row) error {
	for _, boards := range p.state.Rolling {
		if boards.isEvicting(r.TargetDay) {
			return dayEvictingError{r.TargetDay}
		}
	}
	p.reserve(len(boards)*p.writesPerEntry + 1)
	for _, b := range boards {
		after := BoardEntry{ID: r.Holder, Newest: r.Newest, Aggregates: p.contents.entry(b, r.Holder).Aggregates.Add(r.Aggregates)}
		if b.Span == r.TargetDay {
			after.Newest = r.NewestOfTargetDay
		}
		if !after.Aggregates.isPossible() {
			return fmt.Errorf("%w: game %s: the correction at position %d subtracts more from the entry %s on %s than it has", errCorrupt, p.cfg.Game, r.Pos, r.Holder, b.Span)
		}
		p.setEntry(b, after)
		if b.Span == r.TargetDay && r.TargetDay < p.state.Mark.Day {
			p.batch.sealDays[r.TargetDay] = true
		}
	}
	return nil
}

// endOpenDay ends the open day: it records the sizes of the day's boards, and rolling
// windows may switch to their other board.
func (p *planner) endDay(r Row) {
	if p.state.Mark.Day == "" {
		return
	}
	if p.cfg.hasDayBoards() {
		p.batch.sealDays[p.state.Mark.Day] = true
	}
	p.state.Rolling = startDayInAll(p.state.Rolling, r.Day)
}

// setEntry stores an entry as it is after a row, or removes it if it has no match.
func (p *planner) setEntry(b Board, after BoardEntry) {
	p.batch.noteBefore(b, after.ID, p.contents.entry(b, after.ID))
	p.contents.set(b, after)
}

// advanceMark moves the watermark to a row.
func (p *planner) advanceMark(r Row) {
	p.state.Mark.Pos, p.state.Mark.RowID, p.state.Mark.Day = r.Pos, r.ID, r.Day
	if p.state.First == "" {
		p.state.First, p.state.Oldest, p.state.Rolling = r.Day, r.Day, p.cfg.startRolling(r.Day)
	}
}

// closeTransaction turns the open batch into a transaction. It does nothing without an
// open batch.
func (p *planner) closeStep() {
	if p.batch == nil {
		return
	}
	step := p.state.nextStep(p.now)
	step.Changes, step.SealedDays = p.batch.changes(p.cfg, p.contents), p.batch.sealedDays(p.contents)
	p.state.Version = step.Version
	p.steps = append(p.steps, step)
	p.batch = nil
}

// nextTransaction returns a transaction without changes. It expects the version of s and
// stores the progress of s.
func (s State) nextStep(now int64) Step {
	step := Step{ExpectedVersion: s.Version, Version: rand.Text(), Loading: s.Loading, PlannedAt: now, Progress: s.Progress}
	step.Rolling = maps.Clone(s.Rolling)
	return step
}
