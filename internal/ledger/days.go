package ledger

import "context"

// Days starts the days of games and sums the past ones.
type Days struct {
	*database
	entries     *entryWriter
	sumPageSize int64 // positions per step of SumDays
}

// StartNewDays adds an entry for each day that has started since the last entry, and the tasks
// that report the ended days. It reports whether it added any. Commit does the same
// before it adds its entries, so StartNewDays is for games without new results. If there
// is nothing to do, it only reads.
func (s *Days) StartNewDays(ctx context.Context, game string) (hasNewDays bool, err error) {
	day, today, err := s.entries.currentDay(ctx, game)
	if err != nil {
		return false, err
	}
	if day >= today {
		s.entries.recordDayBlock(&head{game: game, currentDay: day}, today, "")
		return false, nil
	}
	err = s.inTx(ctx, func(tx *transaction) error {
		h, err := s.entries.lockHead(ctx, tx, game)
		if err != nil {
			return err
		}
		hasNewDays = len(h.entries) > 0
		h.save(ctx, tx)
		return enqueueAll(ctx, tx, s.entries.eventTasks(h))
	})
	return hasNewDays, err
}

// sumPageSize is the number of positions per step of SumDays.
const sumPageSize = 1000

// SumDays sums the past days of a game, and returns how many it finished. It works in pages,
// each a transaction, and pauses after each page for as long as it took. It never locks the
// head, so it does not delay commits. It may stop at any point. Several nodes may run it and
// share the work. If there is nothing to do, it reads one row.
func (s *Days) SumDays(ctx context.Context, game string) (days int, err error) {
	_, err = repeatWithPauses(ctx, 1, func() (int64, error) {
		d, hasEnded, err := s.nextUnsummed(ctx, game)
		if err != nil || !hasEnded {
			return 0, err
		}
		isDone, err := s.sumNextPage(ctx, d)
		if isDone {
			days++
		}
		return 1, err
	})
	return days, err
}

// nextUnsummed returns the first day that is not summed, and whether it has ended.
func (s *Days) nextUnsummed(ctx context.Context, game string) (d ledgerDay, hasEnded bool, err error) {
	_, err = s.get(ctx, d.pointers(), selectUnsummed, game)
	return d, d.nextDayPos > 0, err
}

const (
	// updateSummedTo changes no row if another node has summed the page already. It locks the
	// day, so that a correction is committed either before the page or after it. If before,
	// the page leaves out the corrected entries. If after, the correction updates the sums.
	updateSummedTo = `
UPDATE days SET summed_to = $3, summed = $4 WHERE game = $1 AND day = $2 AND summed_to = $5 AND summed = 0`

	deletePairs = `
DELETE FROM duel_pairs WHERE (game, day, player1, player2) IN (
    SELECT game, day, player1, player2 FROM duel_pairs WHERE game = $1 AND day = $2 LIMIT $3)`
)

var (
	addSums = `
WITH v AS (` + sumsFrom(`entries e WHERE e.game = $1 AND {pos} > $2 AND {pos} <= $3 AND `+counted) + `)
INSERT INTO day_sums (game, ` + sumColumns + `) SELECT $1, ` + sumColumns + ` FROM v WHERE true` + addOnConflict

	// addOnConflict adds inserted sums to those that exist. It stores the greater of the two
	// newest positions, because a correction may have stored a later one.
	addOnConflict = `
ON CONFLICT (game, holder_kind, holder, day) DO UPDATE SET
    newest = CASE WHEN excluded.newest > day_sums.newest THEN excluded.newest ELSE day_sums.newest END,
    committed_at = CASE WHEN excluded.newest > day_sums.newest THEN excluded.committed_at ELSE day_sums.committed_at END,
    ` + eachAggregate("@ = day_sums.@ + excluded.@")
)

// sumNextPage sums a day's next page, and reports whether it has finished the day. With the
// last page it also deletes the counts of duels per pair of that day.
func (s *Days) sumNextPage(ctx context.Context, d ledgerDay) (isDone bool, err error) {
	from := max(d.startPos, d.summedTo)
	to := min(from+s.sumPageSize, d.nextDayPos-1)
	summed := int64(0)
	if to == d.nextDayPos-1 {
		summed = 1
		if err := s.deletePairsOfDay(ctx, d.game, d.day); err != nil {
			return false, err
		}
	}
	err = s.inTx(ctx, func(tx *transaction) error {
		if tx.exec(ctx, updateSummedTo, d.game, d.day, to, summed, d.summedTo) > 0 {
			isDone = summed == 1
			tx.exec(ctx, addSums, d.game, from, to)
		}
		return nil
	})
	return isDone && err == nil, err
}

// deletePairsOfDay deletes the pairs of a past day, in pages.
func (s *Days) deletePairsOfDay(ctx context.Context, game, day string) error {
	_, err := repeatWithPauses(ctx, 1, func() (int64, error) { return s.exec(ctx, deletePairs, game, day, s.sumPageSize) })
	return err
}

// ConfirmDay allows the days of a game up to the given day (YYYY-MM-DD) to start although
// other clocks disagree. It is for operators who know that the database's clock is right.
func (s *Days) ConfirmDay(ctx context.Context, game, day string) error {
	_, err := s.exec(ctx, `
INSERT INTO confirmed_days (game, day, confirmed_at) VALUES ($1, $2, {now})
ON CONFLICT (game) DO UPDATE SET day = excluded.day, confirmed_at = excluded.confirmed_at`, game, day)
	return err
}
