package leaderboard

import (
	"context"
	"time"

	"laststand/internal/timer"
)

// buildRenewInterval is the minimum time between two renewals of the lease during a load.
const buildRenewInterval = buildLeaseTTL / 6

// loadSums writes the sums of one ledger snapshot into an empty board set, and returns its
// state after that. While other boards are served, it pauses after each transaction for as
// long as the transaction took.
func (b *builder) loadSums(ctx context.Context, emptyState BoardSetState) (BoardSetState, error) {
	_, hasServedBoards, err := b.store.ServedConfig(ctx, b.newestConfig.Game)
	if err != nil {
		return emptyState, err
	}
	sumLoader := &loader{
		resources: b.resources, planner: &planner{cfg: b.newestConfig, plannedAt: b.now(), state: emptyState, entries: map[EntryKey]BoardEntry{}},
		isThrottled: hasServedBoards, newest: map[Board]int64{},
	}
	err = b.ledger.Snapshot(ctx, b.newestConfig.Game, func(snapshot Snapshot) error { return sumLoader.load(ctx, snapshot) })
	if err != nil {
		return emptyState, err
	}
	sumLoader.state.Loading = false
	sumLoader.reserveWrites(0)
	sumLoader.closeTransaction()
	err = sumLoader.commit(ctx)
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
	progress.OldestDay = max(progress.FirstDay, progress.oldestNeededDay())
	return progress
}

// loader fills an empty board set with sums.
type loader struct {
	*resources
	*planner
	isThrottled bool            // pauses after each transaction, because other boards are served
	renewedAt   time.Time       // when the lease was renewed last
	newest      map[Board]int64 // commit time of the newest result per board so far, epoch ms
}

// load adds the sums of a snapshot to the boards.
func (l *loader) load(ctx context.Context, snapshot Snapshot) error {
	l.state.Progress = l.cfg.initialProgress(snapshot)
	covered := l.cfg.coverage(l.state.Progress)
	entries, last := map[EntryKey]datedEntry{}, DaySum{} // entries of one holder
	for sum, err := range snapshot.Sums {
		if err == nil && (sum.HolderKind != last.HolderKind || sum.Holder != last.Holder) {
			err = l.addEntries(ctx, entries)
		}
		if err != nil {
			return err
		}
		covered.add(entries, sum)
		last = sum
	}
	return l.addEntries(ctx, entries)
}

// addEntries moves entries to the boards. It commits full transactions.
func (l *loader) addEntries(ctx context.Context, entries map[EntryKey]datedEntry) error {
	for key, entry := range entries {
		l.reserveWrites(1 + len(l.cfg.RankingOrders())) // the entry, and a member per ranking
		if err := l.commit(ctx); err != nil {
			return err
		}
		l.newest[key.Board] = max(l.newest[key.Board], entry.committedAt)
		l.setEntry(key.Board, entry.BoardEntry, l.newest[key.Board])
	}
	clear(entries)
	return nil
}

// commit commits the closed transaction, if there is one. It renews the build lease if
// buildRenewInterval has passed since the last renewal, because each renewal costs a round
// trip.
func (l *loader) commit(ctx context.Context) error {
	if len(l.txs) == 0 {
		return nil
	}
	began := time.Now()
	if err := l.store.Commit(ctx, l.state.BoardSet, l.txs); err != nil {
		return err
	}
	l.txs, l.plannedAt = nil, l.now()
	clear(l.entries)
	if l.isThrottled {
		timer.Sleep(ctx, time.Since(began))
	}
	if time.Since(l.renewedAt) < buildRenewInterval {
		return nil
	}
	l.renewedAt = time.Now()
	return l.renewLease(ctx, l.buildLease)
}
