package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"laststand/internal/identity"
)

var _ identity.NameSource = (*Names)(nil)

// namePageSize is how many names one statement reads. Short statements do not delay VACUUM,
// which removes old row versions.
const namePageSize = 10_000

const selectNamedBetween = `
SELECT named_at, game, skeleton FROM players WHERE (named_at, game, skeleton) > ($1, $2, $3) AND named_at <= $4
ORDER BY named_at, game, skeleton LIMIT $5`

// NamesBetween calls onName for the skeleton of every nickname that was claimed between
// two times, both included, in order of time. Times are epoch ms by the database's clock.
//
// Claims may be committed in another order. So a later call must repeat the last minute.
// MigrateSkeletons does not change the time of a name when it applies newer rules for
// the first time, because views by older rules are useless then.
func (s *Names) NamesBetween(ctx context.Context, from, to int64, onName func(game, skeleton string, at int64)) error {
	at, game, skeleton := from, "", "" // before all names of that time, because no game has an empty name
	for {
		n := 0
		err := scanAll(func(rows *sql.Rows) error {
			n++
			if err := rows.Scan(&at, &game, &skeleton); err != nil {
				return err
			}
			onName(game, skeleton, at)
			return nil
		})(s.readPool.QueryContext(ctx, selectNamedBetween, at, game, skeleton, to, s.pageSize))
		if err != nil {
			return fmt.Errorf("ledger: names by time: %w", err)
		}
		if n < s.pageSize {
			return nil
		}
	}
}

const selectSkeletons = `
SELECT skeleton FROM players WHERE game = $1 AND skeleton > $2 ORDER BY skeleton LIMIT $3`

// EachSkeleton calls onSkeleton for the skeleton of every nickname of a game, in order. A
// nickname that changes during the call may be missing, or appear with the old and the
// new skeleton.
func (s *Names) EachSkeleton(ctx context.Context, game string, onSkeleton func(skeleton string)) error {
	last := ""
	for {
		n := 0
		err := scanAll(func(rows *sql.Rows) error {
			n++
			if err := rows.Scan(&last); err != nil {
				return err
			}
			onSkeleton(last)
			return nil
		})(s.readPool.QueryContext(ctx, selectSkeletons, game, last, s.pageSize))
		if err != nil {
			return fmt.Errorf("ledger: skeletons: %w", err)
		}
		if n < s.pageSize {
			return nil
		}
	}
}

const countNames = `SELECT COUNT(*) FROM players WHERE game = $1`

// CountNames returns the number of nicknames of a game, which is its number of players.
// It reads a whole index, so it is slow for many players.
func (s *Names) CountNames(ctx context.Context, game string) (n int64, err error) {
	if err = s.readPool.QueryRowContext(ctx, countNames, game).Scan(&n); err != nil {
		return 0, fmt.Errorf("ledger: count names: %w", err)
	}
	return n, nil
}
