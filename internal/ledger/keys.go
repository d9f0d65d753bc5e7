package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"laststand/internal/identity"
)

const selectKeys = `SELECT id, alg, secret FROM keys WHERE game = $1 ORDER BY number`

// Keys gives the keys of a game that the ledger keeps, oldest first; game ""
// holds the server's own.
func (l *Ledger) Keys(ctx context.Context, game string) ([]identity.Key, error) {
	var keys []identity.Key
	err := scanAll(func(rows *sql.Rows) error {
		var k identity.Key
		err := rows.Scan(&k.ID, &k.Alg, &k.Secret)
		keys = append(keys, k)
		return err
	})(l.read.QueryContext(ctx, selectKeys, game))
	if err != nil {
		return nil, fmt.Errorf("ledger: keys: %w", err)
	}
	return keys, nil
}

const insertFirstKey = `
INSERT INTO keys (game, number, id, alg, secret, created_at) VALUES ($1, 1, $2, $3, $4, {now})
ON CONFLICT DO NOTHING`

// AddKeyIfNone keeps the key if the game has none. Of several processes that do
// so at once one wins; all read the same keys afterwards.
func (l *Ledger) AddKeyIfNone(ctx context.Context, game string, k identity.Key) error {
	if _, err := l.exec(ctx, insertFirstKey, game, k.ID, k.Alg, k.Secret); err != nil {
		return fmt.Errorf("ledger: add a key: %w", err)
	}
	return nil
}
