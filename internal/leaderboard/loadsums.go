package leaderboard

import (
	"context"
	"time"
)

// loadSums writes the sums of one ledger snapshot into an empty board set, and returns its
// state after that. While other boards are served, it pauses after each transaction for as
// long as the transaction took.
func (a *Applier) loadSums(ctx context.Context, cfg Config, emptyState BoardSetState) (BoardSetState, error) {
	servedConfigs, err := a.store.ServedConfigs(ctx, cfg.Game)
	if err != nil {
		return BoardSetState{}, err
	}
	sumLoader := &loader{applier: a, cfg: cfg, state: emptyState, isThrottled: len(servedConfigs) > 0, boards: map[Board]*loadedBoard{}, orders: cfg.RankingOrders()}
	err = a.ledger.Snapshot(ctx, cfg.Game, func(snapshot Snapshot) error {
		sumLoader.state.Progress = cfg.initialProgress(snapshot)
		sumLoader.coverage = cfg.coverage(sumLoader.state.Progress)
		for sums, err := range groupByHolder(snapshot.Sums) {
			if err != nil {
				return err
			}
			if err := sumLoader.addHolder(ctx, sums); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return BoardSetState{}, err
	}
	sumLoader.state.Loading = false
	return sumLoader.state, sumLoader.commit(ctx, sumLoader.pastDaySizes())
}

// initialProgress returns the progress of a board set that holds the sums of a snapshot.
// Its rolling boards begin with the days that they would have after all evictions.
func (c Config) initialProgress(snapshot Snapshot) Progress {
	progress := Progress{Watermark: snapshot.Watermark, FirstDay: snapshot.FirstDay}
	if snapshot.FirstDay == "" {
		return progress
	}
	progress.Rolling = c.newRollingWindows(snapshot.Watermark.Day)
	progress.OldestDay = addDays(snapshot.Watermark.Day, -1)
	if rolling := earliestDay(progress.Rolling); rolling != "" {
		progress.OldestDay = min(progress.OldestDay, rolling)
	}
	progress.OldestDay = max(progress.OldestDay, progress.FirstDay)
	return progress
}

// loader plans and commits the transactions that fill an empty board set with sums.
type loader struct {
	applier     *Applier
	cfg         Config
	state       BoardSetState
	coverage    coverage
	isThrottled bool // pauses after each transaction, because other boards are served
	boards      map[Board]*loadedBoard
	renewedAt   time.Time // when the lease was renewed last

	orders []Order // the RankingOrders of cfg

	changedBoards []*loadedBoard // changed by the transaction being planned, in the order of the first change
	writeCount    int            // writes of the transaction being planned
}

// loadedBoard is the content of a board that has been planned so far.
type loadedBoard struct {
	entryCount int64
	asOf       int64  // commit time of the newest result, epoch ms
	change     Change // part of the transaction being planned
}

// addHolder adds one holder's entries to the boards. It commits the planned transaction
// first if that is full.
func (l *loader) addHolder(ctx context.Context, sums []DaySum) error {
	writes := 1 + len(l.orders)
	for _, sum := range l.coverage.entriesFrom(sums) {
		if l.writeCount+writes > maxTransactionWrites {
			if err := l.commit(ctx, nil); err != nil {
				return err
			}
		}
		l.writeCount += writes
		l.addEntry(sum)
	}
	return nil
}

func (l *loader) addEntry(posting datedEntry) {
	board := l.boards[posting.board]
	if board == nil {
		board = &loadedBoard{}
		l.boards[posting.board] = board
	}
	if len(board.change.PutEntries) == 0 {
		board.change = Change{Board: posting.board, RemovedMembers: map[Order][]string{}, AddedMembers: map[Order][]RankedMember{}}
		l.changedBoards = append(l.changedBoards, board)
	}
	board.entryCount++
	board.asOf = max(board.asOf, posting.committedAt)
	l.cfg.addEntryChange(l.orders, &board.change, BoardEntry{}, posting.entry)
}

// commit commits the planned transaction, and renews the build lease if that is due.
func (l *loader) commit(ctx context.Context, daySizes []DaySizes) error {
	began := time.Now()
	tx := l.state.nextTransaction(l.applier.now())
	tx.PastDaySizes = daySizes
	for _, board := range l.changedBoards {
		board.change.AsOf = board.asOf
		tx.Changes = append(tx.Changes, board.change)
		board.change = Change{}
	}
	l.changedBoards, l.writeCount = nil, 0
	if err := l.applier.store.Commit(ctx, l.state.BoardSet, []Transaction{tx}); err != nil {
		return err
	}
	l.state.Version = tx.Version
	if l.isThrottled {
		sleep(ctx, time.Since(began))
	}
	return l.renewLease(ctx)
}

// renewLease renews the build lease if buildRenewInterval has passed since the last
// renewal, because each renewal costs a round trip.
func (l *loader) renewLease(ctx context.Context) error {
	if time.Since(l.renewedAt) < buildRenewInterval {
		return nil
	}
	l.renewedAt = time.Now()
	return l.applier.renewLease(ctx, buildLeaseID(l.cfg), buildLeaseTTL)
}

// pastDaySizes returns the sizes of the past days' boards.
func (l *loader) pastDaySizes() []DaySizes {
	var sizes []DaySizes
	for _, day := range l.coverage.singleDays() {
		if day == l.coverage.openDay {
			break
		}
		dayCounts := DaySizes{Day: day, Sizes: map[Kind]int64{}}
		for _, kind := range Kinds() {
			dayCounts.Sizes[kind] = 0
			if board := l.boards[Board{kind, day}]; board != nil {
				dayCounts.Sizes[kind] = board.entryCount
			}
		}
		sizes = append(sizes, dayCounts)
	}
	return sizes
}
