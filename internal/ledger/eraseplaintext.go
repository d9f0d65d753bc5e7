package ledger

import (
	"context"
	"database/sql"
	"errors"
)

const (
	// fromPlainTextErased selects the subjects that an older program has erased but stored
	// in plain text. This program stores hashes, which start with #.
	fromPlainTextErased   = `FROM accounts WHERE player = '' AND substr(sub, 1, 1) <> '#'`
	selectPlainTextErased = `SELECT game, sub ` + fromPlainTextErased + ` LIMIT 1`
	deletePlainTextErased = `DELETE FROM accounts WHERE game = $1 AND sub = $2 AND player = ''`

	selectHasResults = `SELECT EXISTS (SELECT 1 FROM entries WHERE game = $1 AND whose = 'player' AND holder = $2)
OR EXISTS (SELECT 1 FROM seats WHERE game = $1 AND player = $2)`
)

// eraseNextPlainText starts a new erasure of one subject that an older program has erased but
// stored in plain text. It returns the game, or "" if there is no such subject. It cannot
// distinguish guests from players of an operator's login service with similar subjects.
// So both get an opaque id if they have results.
func (l *Ledger) eraseNextPlainText(ctx context.Context) (game string, err error) {
	var subject string
	err = l.readPool.QueryRowContext(ctx, selectPlainTextErased).Scan(&game, &subject)
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
		result, err := tx.ExecContext(ctx, deletePlainTextErased, game, subject)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 { // another node has started it
			return err
		}
		hasResults := false
		if err := tx.QueryRowContext(ctx, selectHasResults, game, subject).Scan(&hasResults); err != nil {
			return err
		}
		return l.replaceByHash(ctx, tx, erasedSubject{l.hashKey, game, subject, hasResults})
	})
}
