package leaderboard

import (
	"context"
	"time"
)

// loadSums writes the sums of one ledger snapshot into an empty board set, and returns its
// state after that. While other boards are served, it pauses after each transaction for as
// long as the transaction took.
func (a *Applier) load(ctx context.Context, cfg Config, emptyState State) (State, error) {
	configs, err := a.store.ServedConfigs(ctx, cfg.Game)
	if err != nil {
		return State{}, err
	}
	l := &loader{applier: a, cfg: cfg, state: emptyState, isThrottled: len(configs) > 0, boards: map[Board]*loadedBoard{}, rankings: cfg.Rankings()}
	err = a.ledger.Snapshot(ctx, cfg.Game, func(s Snapshot) error {
		l.state.Progress = cfg.initialProgress(s)
		l.coverage = cfg.coverage(l.state.Progress)
		for sums, err := range byHolder(s.Sums) {
			if err != nil {
				return err
			}
			if err := l.addHolder(ctx, sums); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return State{}, err
	}
	l.state.Loading = false
	return l.state, l.commit(ctx, l.sealedDays())
}

// initialProgress returns the progress of a board set that holds the sums of a snapshot.
// Its rolling boards begin with the days that they would have after all evictions.
func (c Config) initialProgress(s Snapshot) Progress {
	p := Progress{Mark: s.Mark, First: s.First}
	if s.First == "" {
		return p
	}
	p.Rolling = c.startRolling(s.Mark.Day)
	p.Oldest = addDays(s.Mark.Day, -1)
	if rolling := earliestDay(p.Rolling); rolling != "" {
		p.Oldest = min(p.Oldest, rolling)
	}
	p.Oldest = max(p.Oldest, p.First)
	return p
}

// loader plans and commits the transactions that fill an empty board set with sums.
type loader struct {
	applier     *Applier
	cfg         Config
	state       State
	coverage    coverage
	isThrottled bool // pauses after each transaction, because other boards are served
	boards      map[Board]*loadedBoard
	renewedAt   time.Time // when the lease was renewed last

	rankings []Order // the RankingOrders of cfg

	changedBoards []*loadedBoard // changed by the transaction being planned, in the order of the first change
	writes        int            // writes of the transaction being planned
}

// loadedBoard is the content of a board that has been planned so far.
type loadedBoard struct {
	entries int64
	asOf    int64  // commit time of the newest result, epoch ms
	change  Change // part of the transaction being planned
}

// addHolder adds one holder's entries to the boards. It commits the planned transaction
// first if that is full.
func (l *loader) addHolder(ctx context.Context, sums []Sum) error {
	cost := 1 + len(l.rankings)
	for _, p := range l.coverage.postings(sums) {
		if l.writes+cost > stepWrites {
			if err := l.commit(ctx, nil); err != nil {
				return err
			}
		}
		l.writes += cost
		l.addPosting(p)
	}
	return nil
}

func (l *loader) addPosting(p posting) {
	b := l.boards[p.board]
	if b == nil {
		b = &loadedBoard{}
		l.boards[p.board] = b
	}
	if len(b.change.Put) == 0 {
		b.change = Change{Board: p.board, RemovedMembers: map[Order][]string{}, AddedMembers: map[Order][]Ranked{}}
		l.changedBoards = append(l.changedBoards, b)
	}
	b.entries++
	b.asOf = max(b.asOf, p.committedAt)
	l.cfg.addChange(l.rankings, &b.change, BoardEntry{}, p.entry)
}

// commit commits the planned transaction, and renews the build lease if that is due.
func (l *loader) commit(ctx context.Context, seal []SealedDay) error {
	began := time.Now()
	step := l.state.nextStep(l.applier.now())
	step.SealedDays = seal
	for _, b := range l.changedBoards {
		b.change.AsOf = b.asOf
		step.Changes = append(step.Changes, b.change)
		b.change = Change{}
	}
	l.changedBoards, l.writes = nil, 0
	if err := l.applier.store.Commit(ctx, l.state.Generation, []Step{step}); err != nil {
		return err
	}
	l.state.Version = step.Version
	if l.isThrottled {
		sleep(ctx, time.Since(began))
	}
	return l.renewLease(ctx)
}

// renewLease renews the build lease if buildRenewInterval has passed since the last
// renewal, because each renewal costs a round trip.
func (l *loader) renewLease(ctx context.Context) error {
	if time.Since(l.renewedAt) < buildRenew {
		return nil
	}
	l.renewedAt = time.Now()
	return l.applier.renewLease(ctx, buildDuty(l.cfg), buildLease)
}

// pastDaySizes returns the sizes of the past days' boards.
func (l *loader) sealedDays() []SealedDay {
	var all []SealedDay
	for _, day := range l.coverage.days() {
		if day == l.coverage.openDay {
			break
		}
		sealed := SealedDay{Day: day, Sizes: map[Kind]int64{}}
		for _, kind := range Kinds() {
			sealed.Sizes[kind] = 0
			if b := l.boards[Board{kind, day}]; b != nil {
				sealed.Sizes[kind] = b.entries
			}
		}
		all = append(all, sealed)
	}
	return all
}
