package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
)

// ErasureRetention is how long the ledger stores the former ids of moved entries after the
// last step of an erasure. A copy of the leaderboards that is further behind is rebuilt.
const ErasureRetention = 10 * time.Minute

// deleteErased are statements that delete the last rows with a subject's id. These are
// the duels of the day, the revocations that ended its sessions, the progress of
// MigrateSkeletons, and the erasure itself. The revocation of the erasure stays under
// the subject's hash, for nodes that have not read it yet.
var deleteErased = []string{
	`DELETE FROM duel_pairs WHERE game = $1 AND (player1 = $2 OR player2 = $2)`,
	`DELETE FROM revocations WHERE game = $1 AND kind IN ('linked', 'unlinked') AND id = $2`,
	`UPDATE nickname_rules SET player = '' WHERE game = $1 AND player = $2`,
	`DELETE FROM erasures WHERE game = $1 AND subject = $2`,
}

const hashErasedRevocation = `UPDATE revocations SET id = $3 WHERE game = $1 AND kind = 'erased' AND id = $2`

const selectEndedErasure = `
SELECT game, subject, opaque_id FROM erasures WHERE ended_at > 0 AND ended_at <= (SELECT {now}) - $1 ORDER BY ended_at, next_step_at LIMIT 1 {free}`

// ForgetErased deletes the last data of one erasure that ended at least minAge ago, and
// reports whether there was one. On SQLite it also empties the write-ahead log, so that
// the log has no copy of the data.
func (s *Erasures) ForgetErased(ctx context.Context, minAge time.Duration) (bool, error) {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		var e erasure
		err := tx.QueryRowContext(ctx, s.expandSQL(selectEndedErasure), minAge.Milliseconds()).Scan(&e.game, &e.subject, &e.opaque)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, hashErasedRevocation, e.game, e.subject, s.hashKey.hashSubject(e.game, e.subject)); err != nil {
			return err
		}
		for _, statement := range deleteErased {
			if _, err := tx.ExecContext(ctx, statement, e.game, e.subject); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil && s.name == goose.DialectSQLite3 {
		_, err = s.writePool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err != nil {
		return false, fmt.Errorf("ledger: delete the data of an erasure: %w", err)
	}
	return true, nil
}
