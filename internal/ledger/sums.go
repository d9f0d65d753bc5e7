package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// sumPage is how many positions SumDays takes at a time.
const sumPage = 1000

// unsummedDay is a day to be summed: rows from after pos to before end, of which
// sums holds those up to summedTo.
type unsummedDay struct {
	game, day          string
	pos, summedTo, end int64
}

// SumDays sums the days of a game that are over, and gives how many it has come
// to the end of. It goes by pages, each for good once it is committed, rests for
// as long as each took, and locks the head never, so that it keeps nobody from
// committing. It may be ended anywhere and called by several nodes at once, who
// then share the work; it is cheap when called in vain.
func (l *Ledger) SumDays(ctx context.Context, game string) (int, error) {
	for days := 0; ; {
		d, isPast, err := l.nextUnsummed(ctx, game)
		if err != nil || !isPast {
			return days, err
		}
		began := time.Now()
		isEnded, err := l.sumPageOf(ctx, d)
		if err != nil {
			return days, fmt.Errorf("ledger: sum %s of %s: %w", d.day, game, err)
		}
		if isEnded {
			days++
		}
		select {
		case <-ctx.Done():
			return days, ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
}

const selectUnsummed = `
SELECT d.day, d.pos, d.summed_to, COALESCE((SELECT n.pos FROM days n WHERE n.game = d.game AND n.day > d.day ORDER BY n.day LIMIT 1), 0)
FROM days d WHERE d.game = $1 AND d.summed = 0 ORDER BY d.day LIMIT 1`

// nextUnsummed is the first day that is not summed, and whether it is over.
func (l *Ledger) nextUnsummed(ctx context.Context, game string) (unsummedDay, bool, error) {
	d := unsummedDay{game: game}
	err := l.read.QueryRowContext(ctx, selectUnsummed, game).Scan(&d.day, &d.pos, &d.summedTo, &d.end)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return d, false, fmt.Errorf("ledger: days to sum of %s: %w", game, err)
	}
	return d, d.end > 0, nil
}

// moveSummed finds no row where another node has taken the page already. It
// locks the day, so that a correction comes before the page or after it: before
// it the rows taken back do not count any more, after it they are in sums.
const moveSummed = `
UPDATE days SET summed_to = $3, summed = $4 WHERE game = $1 AND day = $2 AND summed_to = $5 AND summed = 0`

// addSums meets the newest of a later page, but for what a correction has put
// in already.
var addSums = strings.NewReplacer(
	"{page}", sumsFrom(`entries e WHERE e.game = $1 AND e.pos > $2 AND e.pos <= $3 AND `+stillCounts),
	"{parts}", eachAggregate("@ = sums.@ + excluded.@"),
).Replace(`
WITH v AS ({page})
INSERT INTO sums (game, ` + sumColumns + `) SELECT $1, ` + sumColumns + ` FROM v WHERE true
ON CONFLICT (game, whose, holder, day) DO UPDATE SET
    newest = CASE WHEN excluded.newest > sums.newest THEN excluded.newest ELSE sums.newest END,
    at = CASE WHEN excluded.newest > sums.newest THEN excluded.at ELSE sums.at END,
    {parts}`)

// sumPageOf takes a day's next page into sums, and says whether that ends the day.
func (l *Ledger) sumPageOf(ctx context.Context, d unsummedDay) (isEnded bool, err error) {
	from := max(d.pos, d.summedTo)
	to := min(from+l.sumPage, d.end-1)
	summed := int64(0)
	if to == d.end-1 {
		summed = 1
		if err := l.forgetPairs(ctx, d.game, d.day); err != nil {
			return false, err
		}
	}
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		moved, err := tx.ExecContext(ctx, moveSummed, d.game, d.day, to, summed, d.summedTo)
		if err != nil {
			return err
		}
		if n, err := moved.RowsAffected(); err != nil || n == 0 {
			return err
		}
		isEnded = summed == 1
		_, err = tx.ExecContext(ctx, addSums, d.game, from, to)
		return err
	})
	return isEnded && err == nil, err
}
