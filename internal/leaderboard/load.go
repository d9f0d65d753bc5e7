package leaderboard

import (
	"context"
	"time"
)

// load puts the ledger's sums of one moment into an empty copy, and returns it
// as it stands for that moment. Beside boards that are read it rests as long as
// it works.
func (a *Applier) load(ctx context.Context, cfg Config, empty State) (State, error) {
	forms, err := a.store.Forms(ctx, cfg.Game)
	if err != nil {
		return State{}, err
	}
	l := &loader{a: a, cfg: cfg, state: empty, gentle: len(forms) > 0, boards: map[Board]*loaded{}, rankings: cfg.Rankings()}
	err = a.ledger.Snapshot(ctx, cfg.Game, func(s Snapshot) error {
		l.state.Progress = cfg.standing(s)
		l.reach = cfg.reach(l.state.Progress)
		for sums, err := range byHolder(s.Sums) {
			if err != nil {
				return err
			}
			if err := l.add(ctx, sums); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return State{}, err
	}
	l.state.Loading = false
	return l.state, l.commit(ctx, l.sealed())
}

// standing is what a copy stands for once it holds the sums of a snapshot: its
// rolling windows are where a turn to its day leaves them at best.
func (c Config) standing(s Snapshot) Progress {
	p := Progress{Mark: s.Mark, First: s.First}
	if s.First == "" {
		return p
	}
	p.Rolls = c.startRolls(s.Mark.Day)
	p.Oldest = addDays(s.Mark.Day, -1)
	if rolls := earliest(p.Rolls); rolls != "" {
		p.Oldest = min(p.Oldest, rolls)
	}
	p.Oldest = max(p.Oldest, p.First)
	return p
}

// loader draws up the steps that fill a copy.
type loader struct {
	a      *Applier
	cfg    Config
	state  State
	reach  reach
	gentle bool
	boards map[Board]*loaded
	kept   time.Time // when the duty was renewed

	rankings []Order // the configuration's

	touched []*loaded // by the step being drawn up, in order
	writes  int       // of it
}

// loaded is what a board has so far.
type loaded struct {
	entries int64
	asOf    int64
	change  Change // in the step being drawn up
}

// add puts what one holder has on the boards.
func (l *loader) add(ctx context.Context, sums []Sum) error {
	cost := 1 + len(l.rankings)
	for _, p := range l.reach.postings(sums) {
		if l.writes+cost > stepWrites {
			if err := l.commit(ctx, nil); err != nil {
				return err
			}
		}
		l.writes += cost
		l.put(p)
	}
	return nil
}

func (l *loader) put(p posting) {
	b := l.boards[p.board]
	if b == nil {
		b = &loaded{}
		l.boards[p.board] = b
	}
	if len(b.change.Put) == 0 {
		b.change = Change{Board: p.board, Out: map[Order][]string{}, In: map[Order][]Ranked{}}
		l.touched = append(l.touched, b)
	}
	b.entries++
	b.asOf = max(b.asOf, p.at)
	l.cfg.change(l.rankings, &b.change, Held{}, p.entry)
}

// commit writes what was drawn up, and keeps the duty while it takes long.
func (l *loader) commit(ctx context.Context, seal []Sealed) error {
	began := time.Now()
	step := l.state.next(l.a.now())
	step.Seal = seal
	for _, b := range l.touched {
		b.change.AsOf = b.asOf
		step.Changes = append(step.Changes, b.change)
		b.change = Change{}
	}
	l.touched, l.writes = nil, 0
	if err := l.a.store.Commit(ctx, l.state.Generation, []Step{step}); err != nil {
		return err
	}
	l.state.Stamp = step.Stamp
	if l.gentle {
		rest(ctx, time.Since(began))
	}
	return l.keep(ctx)
}

// keep renews the duty now and then: a step takes a round trip, and this
// another.
func (l *loader) keep(ctx context.Context) error {
	if time.Since(l.kept) < buildRenew {
		return nil
	}
	l.kept = time.Now()
	return l.a.renew(ctx, buildDuty(l.cfg), buildLease)
}

// sealed is what the days had that are over.
func (l *loader) sealed() []Sealed {
	var all []Sealed
	for _, day := range l.reach.days() {
		if day == l.reach.open {
			break
		}
		s := Sealed{Day: day, Entries: map[Kind]int64{}}
		for _, whose := range Kinds() {
			s.Entries[whose] = 0
			if b := l.boards[Board{whose, day}]; b != nil {
				s.Entries[whose] = b.entries
			}
		}
		all = append(all, s)
	}
	return all
}
