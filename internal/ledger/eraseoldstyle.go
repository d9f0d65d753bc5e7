package ledger

import (
	"context"
	"database/sql"
	"errors"
)

const (
	// fromPlainTextErased selects the subjects that an older program has erased but stored
	// in plain text. This program stores hashes, which start with #.
	plainErased       = `FROM accounts WHERE player = '' AND substr(sub, 1, 1) <> '#'`
	selectPlainErased = `SELECT game, sub ` + plainErased + ` LIMIT 1`
	deletePlainErased = `DELETE FROM accounts WHERE game = $1 AND sub = $2 AND player = ''`

	hasEntries = `SELECT EXISTS (SELECT 1 FROM entries WHERE game = $1 AND whose = 'player' AND holder = $2)
OR EXISTS (SELECT 1 FROM seats WHERE game = $1 AND player = $2)`
)

// eraseOldStyle starts a new erasure of one subject that an older program has erased but
// stored in plain text. It returns the game, or "" if there is no such subject. It cannot
// distinguish guests from players of an operator's login service with similar subjects.
// So both get an opaque id if they have results.
func (l *Ledger) eraseOldStyle(ctx context.Context) (game string, err error) {
	var subject string
	err = l.read.QueryRowContext(ctx, selectPlainErased).Scan(&game, &subject)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return game, l.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := l.lockHeadRow(ctx, tx, game); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, deletePlainErased, game, subject)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 { // another node has started it
			return err
		}
		own := false
		if err := tx.QueryRowContext(ctx, hasEntries, game, subject).Scan(&own); err != nil {
			return err
		}
		return l.replaceByHash(ctx, tx, erasedSubject{l.hashKey, game, subject, own})
	})
}
