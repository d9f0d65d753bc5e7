package leaderboard

import (
	"context"
	"time"

	"laststand/internal/loop"
)

// loadSums writes the sums of one ledger snapshot into an empty board set, and returns its
// state after that. While other boards are served, it pauses after each transaction for as
// long as the transaction took.
func (b *builder) loadSums(ctx context.Context, emptyState BoardSetState) (BoardSetState, error) {
	servedConfigs, err := b.store.ServedConfigs(ctx, b.newestConfig.Game)
	if err != nil {
		return emptyState, err
	}
	sumLoader := &loader{resources: b.resources, state: emptyState, writesPerEntry: 1 + len(b.newestConfig.RankingOrders()), isThrottled: len(servedConfigs) > 0, sizes: map[Board]int64{}, asOf: map[Board]int64{}}
	sumLoader.openTransaction()
	err = b.ledger.Snapshot(ctx, b.newestConfig.Game, func(snapshot Snapshot) error {
		sumLoader.state.Progress = b.newestConfig.initialProgress(snapshot)
		sumLoader.coverage = b.newestConfig.coverage(sumLoader.state.Progress)
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
		return emptyState, err
	}
	sumLoader.state.Loading = false
	err = sumLoader.commit(ctx, sumLoader.pastDaySizes())
	return sumLoader.state, err
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
	*resources
	state          BoardSetState
	coverage       coverage
	isThrottled    bool            // pauses after each transaction, because other boards are served
	writesPerEntry int             // an added entry is one write, and one per ranking
	renewedAt      time.Time       // when the lease was renewed last
	sizes          map[Board]int64 // entries per board so far
	asOf           map[Board]int64 // commit time of the newest result per board, epoch ms
	batch          *writeBatch     // the open transaction
	entries        workingEntries  // of the open transaction
}

func (l *loader) openTransaction() { l.batch, l.entries = newWriteBatch(), workingEntries{} }

// addHolder adds one holder's entries to the boards. It commits the open transaction first
// if that is full.
func (l *loader) addHolder(ctx context.Context, sums []DaySum) error {
	for _, sum := range l.coverage.entriesFrom(sums) {
		if l.batch.writeCount+l.writesPerEntry > maxTransactionWrites {
			if err := l.commit(ctx, nil); err != nil {
				return err
			}
		}
		l.batch.writeCount += l.writesPerEntry
		l.batch.recordBefore(sum.board, sum.entry.ID, BoardEntry{})
		l.entries.set(sum.board, sum.entry)
		l.sizes[sum.board]++
		l.asOf[sum.board] = max(l.asOf[sum.board], sum.committedAt)
		l.batch.asOf[sum.board] = l.asOf[sum.board]
	}
	return nil
}

// commit commits the open transaction and opens another. It renews the build lease if
// buildRenewInterval has passed since the last renewal, because each renewal costs a round
// trip.
func (l *loader) commit(ctx context.Context, daySizes []DaySizes) error {
	began := time.Now()
	tx := l.state.nextTransaction(l.now())
	tx.Changes, tx.PastDaySizes = l.batch.changes(l.newestConfig, l.entries), daySizes
	l.openTransaction()
	if err := l.store.Commit(ctx, l.state.BoardSet, []Transaction{tx}); err != nil {
		return err
	}
	l.state.Version = tx.Version
	if l.isThrottled {
		loop.Sleep(ctx, time.Since(began))
	}
	if time.Since(l.renewedAt) < buildRenewInterval {
		return nil
	}
	l.renewedAt = time.Now()
	return l.renewLease(ctx, buildLeaseID(l.newestConfig), buildLeaseTTL)
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
			dayCounts.Sizes[kind] = l.sizes[Board{kind, day}]
		}
		sizes = append(sizes, dayCounts)
	}
	return sizes
}
