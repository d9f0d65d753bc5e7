package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/fnv"

	"laststand/internal/leaderboard"
)

const (
	selectDay = `
SELECT d.start_pos, d.summed, d.summed_to,
    COALESCE((SELECT n.start_pos FROM days n WHERE n.game = d.game AND n.day > d.day ORDER BY n.day LIMIT 1), 0)
FROM days d WHERE d.game = $1 AND d.day = $2`

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
	startPos, summed, summedTo, nextDayPos int64
}

// scanDay scans selectDay. found is false for a day that the game has not had.
func scanDay(row *sql.Row) (d ledgerDay, found bool, err error) {
	err = row.Scan(&d.startPos, &d.summed, &d.summedTo, &d.nextDayPos)
	if errors.Is(err, sql.ErrNoRows) {
		return d, false, nil
	}
	return d, err == nil, err
}

// HasDaySums reports whether the ledger stores the sums of a past day.
func (b *Leaderboards) HasDaySums(ctx context.Context, game, day string) (bool, error) {
	d, _, err := scanDay(b.readPool.QueryRowContext(ctx, selectDay, game, day))
	if err != nil {
		return false, fmt.Errorf("ledger: day %s of %s: %w", day, game, err)
	}
	return d.summed == 1, nil
}

// DayVersion returns a number that changes with every correction of a day. It also
// changes if the database is restored to an earlier state and the day ends again. While
// the number is the same, the content of a past day is the same. It is 0 for a day that
// the game has not had.
func (b *Leaderboards) DayVersion(ctx context.Context, game, day string) (int64, error) {
	var version int64
	var nextDayID string // id of the row that starts the next day
	err := b.readPool.QueryRowContext(ctx, selectVersion, game, day).Scan(&version, &nextDayID)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ledger: day %s of %s: %w", day, game, err)
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, version, " ", nextDayID)
	return int64(hash.Sum64()), nil
}

var computeDaySums = sumsFrom(`entries e WHERE e.game = $1 AND e.pos > $2 AND (e.pos < $3 OR $3 = 0) AND e.holder_kind = $4 AND `+stillCounts) + orderByBytes

// ReadDaySums calls onSum with the sum of every holder of a kind on a day, in ascending
// byte order of ids. It stops at the first error of onSum and returns it. If the day is
// not summed yet, it computes the sums from the day's entries.
func (b *Leaderboards) ReadDaySums(ctx context.Context, game, day string, kind leaderboard.Kind, onSum func(leaderboard.DaySum) error) error {
	err := b.inSnapshot(ctx, func(tx *sql.Tx) error {
		d, found, err := scanDay(tx.QueryRowContext(ctx, selectDay, game, day))
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
	if err != nil {
		return fmt.Errorf("ledger: sums of %s of %s: %w", day, game, err)
	}
	return nil
}
