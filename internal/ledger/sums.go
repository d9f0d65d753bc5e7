package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// sumPageSize is the number of positions per step of SumDays.
const sumPageSize = 1000

// unsummedDay is a day to sum. Its entries are after startPos and before nextDayPos,
// which is 0 for the current day. Table sums already has the entries up to summedTo.
type unsummedDay struct {
	game, day                      string
	startPos, summedTo, nextDayPos int64
}

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
		select {
		case <-ctx.Done():
			return days, ctx.Err()
		case <-time.After(time.Since(start)):
		}
	}
}

const selectUnsummed = `
SELECT d.day, d.start_pos, d.summed_to, COALESCE((SELECT n.start_pos FROM days n WHERE n.game = d.game AND n.day > d.day ORDER BY n.day LIMIT 1), 0)
FROM days d WHERE d.game = $1 AND d.summed = 0 ORDER BY d.day LIMIT 1`

// nextUnsummed returns the first day that is not summed, and whether it has ended.
func (s *Days) nextUnsummed(ctx context.Context, game string) (unsummedDay, bool, error) {
	d := unsummedDay{game: game}
	err := s.readPool.QueryRowContext(ctx, selectUnsummed, game).Scan(&d.day, &d.startPos, &d.summedTo, &d.nextDayPos)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return d, false, fmt.Errorf("ledger: days to sum of %s: %w", game, err)
	}
	return d, d.nextDayPos > 0, nil
}

// updateSummedTo changes no row if another node has summed the page already. It locks the
// day, so that a correction is committed either before the page or after it. If before,
// the page leaves out the corrected entries. If after, the correction updates the sums.
const updateSummedTo = `
UPDATE days SET summed_to = $3, summed = $4 WHERE game = $1 AND day = $2 AND summed_to = $5 AND summed = 0`

// addSums stores the greater of the two newest positions, because a correction may have
// stored a later one.
var addSums = strings.NewReplacer(
	"{page}", sumsFrom(`entries e WHERE e.game = $1 AND e.pos > $2 AND e.pos <= $3 AND `+stillCounts),
	"{parts}", eachAggregate("@ = day_sums.@ + excluded.@"),
).Replace(`
WITH v AS ({page})
INSERT INTO day_sums (game, ` + sumColumns + `) SELECT $1, ` + sumColumns + ` FROM v WHERE true
ON CONFLICT (game, holder_kind, holder, day) DO UPDATE SET
    newest = CASE WHEN excluded.newest > day_sums.newest THEN excluded.newest ELSE day_sums.newest END,
    committed_at = CASE WHEN excluded.newest > day_sums.newest THEN excluded.committed_at ELSE day_sums.committed_at END,
    {parts}`)

// sumNextPage sums a day's next page, and reports whether it has finished the day. With the
// last page it also deletes the counts of duels per pair of that day.
func (s *Days) sumNextPage(ctx context.Context, d unsummedDay) (isDone bool, err error) {
	from := max(d.startPos, d.summedTo)
	to := min(from+s.sumPageSize, d.nextDayPos-1)
	summed := int64(0)
	if to == d.nextDayPos-1 {
		summed = 1
		if err := s.deletePairsOfDay(ctx, d.game, d.day); err != nil {
			return false, err
		}
	}
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		moved, err := tx.ExecContext(ctx, updateSummedTo, d.game, d.day, to, summed, d.summedTo)
		if err != nil {
			return err
		}
		if n, err := moved.RowsAffected(); err != nil || n == 0 {
			return err
		}
		isDone = summed == 1
		_, err = tx.ExecContext(ctx, addSums, d.game, from, to)
		return err
	})
	return isDone && err == nil, err
}
