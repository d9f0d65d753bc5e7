package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/loop"
)

const (
	selectDayWhere = `
SELECT d.game, d.day, d.start_pos, d.summed, d.summed_to,
    COALESCE((SELECT n.start_pos FROM days n WHERE n.game = d.game AND n.day > d.day ORDER BY n.day LIMIT 1), 0)
FROM days d WHERE d.game = $1 AND `
	selectDay      = selectDayWhere + `d.day = $2`
	selectUnsummed = selectDayWhere + `d.summed = 0 ORDER BY d.day LIMIT 1`

	selectVersion = `
SELECT d.version, COALESCE((
    SELECT e.id FROM days n JOIN entries e ON e.game = n.game AND e.pos = n.start_pos
    WHERE n.game = d.game AND n.day > d.day ORDER BY n.day LIMIT 1), '')
FROM days d WHERE d.game = $1 AND d.day = $2`

	selectDaySums = `
SELECT ` + sumColumns + ` FROM day_sums WHERE game = $1 AND day = $2 AND holder_kind = $3` + orderByBytes
)

// ledgerDay is a row of table days. Its entries are after startPos and before nextDayPos,
// which is 0 for the current day. summed is 1 if all its entries are in table sums, else
// 0. Entries up to summedTo are in sums already.
type ledgerDay struct {
	game, day                              string
	startPos, summed, summedTo, nextDayPos int64
}

// scanDay scans selectDay or selectUnsummed. found is false if there is no such day.
func scanDay(row *sql.Row) (d ledgerDay, found bool, err error) {
	found, err = scanOptional(row, &d.game, &d.day, &d.startPos, &d.summed, &d.summedTo, &d.nextDayPos)
	return d, found, err
}

// HasDaySums implements leaderboard.Ledger.
func (b *Leaderboards) HasDaySums(ctx context.Context, game, day string) (_ bool, err error) {
	defer describe(&err, "day %s of %s", day, game)
	d, _, err := scanDay(b.queryRow(ctx, selectDay, game, day))
	return d.summed == 1, err
}

// DayVersion returns a number that changes with every correction of a day. It also
// changes if the database is restored to an earlier state and the day ends again. While
// the number is the same, the content of a past day is the same. It is 0 for a day that
// the game has not had.
func (b *Leaderboards) DayVersion(ctx context.Context, game, day string) (version int64, err error) {
	defer describe(&err, "day %s of %s", day, game)
	var nextDayID string // id of the row that starts the next day
	found, err := scanOptional(b.queryRow(ctx, selectVersion, game, day), &version, &nextDayID)
	if err != nil || !found {
		return 0, err
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, version, " ", nextDayID)
	return int64(hash.Sum64()), nil
}

var computeDaySums = sumsFrom(`entries e WHERE e.game = $1 AND {pos} > $2 AND ({pos} < $3 OR $3 = 0) AND e.holder_kind = $4 AND `+counted) + orderByBytes

// ReadDaySums calls onSum with the sum of every holder of a kind on a day, in ascending
// byte order of ids. It stops at the first error of onSum and returns it. If the day is
// not summed yet, it computes the sums from the day's entries.
func (b *Leaderboards) ReadDaySums(ctx context.Context, game, day string, kind leaderboard.Kind, onSum func(leaderboard.DaySum) error) (err error) {
	defer describe(&err, "sums of %s of %s", day, game)
	err = b.inSnapshot(ctx, func(tx *transaction) error {
		d, found, err := scanDay(tx.queryRow(ctx, selectDay, game, day))
		if err != nil || !found {
			return err
		}
		sums := querySums(ctx, tx, selectDaySums, game, day, string(kind))
		if d.summed == 0 {
			sums = querySums(ctx, tx, computeDaySums, game, d.startPos, d.nextDayPos, string(kind))
		}
		for s, err := range sums {
			if err != nil {
				return err
			}
			if err := onSum(s); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// sumPageSize is the number of positions per step of SumDays.
const sumPageSize = 1000

// SumDays sums the past days of a game, and returns how many it finished. It works in
// pages, each a transaction. After each page it pauses for as long as the page took. It
// never locks the head, so it does not delay commits. It may stop at any point. Several
// nodes may run it and share the work. If there is nothing to do, it reads one row.
func (s *Days) SumDays(ctx context.Context, game string) (int, error) {
	for days := 0; ; {
		d, isPast, err := s.nextUnsummed(ctx, game)
		if err != nil || !isPast {
			return days, err
		}
		start := time.Now()
		isDone, err := s.sumNextPage(ctx, d)
		if err != nil {
			return days, fmt.Errorf("ledger: sum %s of %s: %w", d.day, game, err)
		}
		if isDone {
			days++
		}
		if !loop.Sleep(ctx, time.Since(start)) {
			return days, ctx.Err()
		}
	}
}

// nextUnsummed returns the first day that is not summed, and whether it has ended.
func (s *Days) nextUnsummed(ctx context.Context, game string) (d ledgerDay, hasEnded bool, err error) {
	defer describe(&err, "days to sum of %s", game)
	d, _, err = scanDay(s.queryRow(ctx, selectUnsummed, game))
	return d, d.nextDayPos > 0, err
}

// updateSummedTo changes no row if another node has summed the page already. It locks the
// day, so that a correction is committed either before the page or after it. If before,
// the page leaves out the corrected entries. If after, the correction updates the sums.
const updateSummedTo = `
UPDATE days SET summed_to = $3, summed = $4 WHERE game = $1 AND day = $2 AND summed_to = $5 AND summed = 0`

var addSums = `
WITH v AS (` + sumsFrom(`entries e WHERE e.game = $1 AND {pos} > $2 AND {pos} <= $3 AND `+counted) + `)
INSERT INTO day_sums (game, ` + sumColumns + `) SELECT $1, ` + sumColumns + ` FROM v WHERE true` + addOnConflict

// addOnConflict adds inserted sums to those that exist. It stores the greater of the two
// newest positions, because a correction may have stored a later one.
var addOnConflict = `
ON CONFLICT (game, holder_kind, holder, day) DO UPDATE SET
    newest = CASE WHEN excluded.newest > day_sums.newest THEN excluded.newest ELSE day_sums.newest END,
    committed_at = CASE WHEN excluded.newest > day_sums.newest THEN excluded.committed_at ELSE day_sums.committed_at END,
    ` + eachAggregate("@ = day_sums.@ + excluded.@")

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
		moved, err := tx.exec(ctx, updateSummedTo, d.game, d.day, to, summed, d.summedTo)
		if err != nil || moved == 0 {
			return err
		}
		isDone = summed == 1
		_, err = tx.exec(ctx, addSums, d.game, from, to)
		return err
	})
	return isDone && err == nil, err
}
