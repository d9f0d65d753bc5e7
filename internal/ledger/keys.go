package ledger

import (
	"context"
	"fmt"

	"laststand/internal/identity"
)

const selectKeys = `SELECT id, alg, secret, created_at FROM token_keys WHERE game = $1 ORDER BY number`

// Keys returns the stored token keys of a game, oldest first. Game "" has the server's
// own keys.
func (t *TokenKeys) Keys(ctx context.Context, game string) (_ []identity.Key, err error) {
	defer describe(&err, "keys")
	keys, err := collect(func(k *identity.Key) []any { return []any{&k.ID, &k.Alg, &k.Secret, &k.CreatedAt} })(t.query(ctx, selectKeys, game))
	return keys, err
}

const insertFirstKey = `
INSERT INTO token_keys (game, number, id, alg, secret, created_at) VALUES ($1, 1, $2, $3, $4, {now})
ON CONFLICT DO NOTHING`

// AddKeyIfNone stores the key if the game has none. If several processes call it at the
// same time, only one key is stored.
func (t *TokenKeys) AddKeyIfNone(ctx context.Context, game string, k identity.Key) (err error) {
	defer describe(&err, "add a key")
	_, err = t.exec(ctx, insertFirstKey, game, k.ID, k.Alg, k.Secret)
	return err
}

const (
	// maxKeys limits the keys of a game.
	maxKeys = 16

	countKeys      = `SELECT COUNT(*), COALESCE(MAX(number), 0) FROM token_keys WHERE game = $1`
	insertKey      = `INSERT INTO token_keys (game, number, id, alg, secret, created_at) VALUES ($1, $2, $3, $4, $5, $6)`
	deleteKey      = `DELETE FROM token_keys WHERE game = $1 AND id = $2`
	selectOlderKey = `SELECT EXISTS (SELECT 1 FROM token_keys WHERE game = $1 AND created_at <= $2)`
)

// AddKey stores one more key. The error is identity.ErrTooManyKeys if the game has 16
// already.
func (t *TokenKeys) AddKey(ctx context.Context, game string, k identity.Key) (err error) {
	defer describe(&err, "add a key")
	err = inAccessChange(ctx, t.database, func(c *accessChange) error {
		var count, lastNumber int64
		if err := c.queryRow(ctx, countKeys, game).Scan(&count, &lastNumber); err != nil {
			return err
		}
		if count >= maxKeys {
			return fmt.Errorf("%w: the game has %d; retire one first", identity.ErrTooManyKeys, count)
		}
		if _, err := c.exec(ctx, insertKey, game, lastNumber+1, k.ID, k.Alg, k.Secret, c.now); err != nil {
			return err
		}
		_, err := c.exec(ctx, updateKeysRevision)
		return err
	})
	return err
}

// RetireKey deletes a key. The error is identity.ErrNoKey if the game has no such key. It
// is identity.ErrKeyInUse if no other key is at least minAgeMS old, because nodes may not
// have read the others yet.
func (t *TokenKeys) RetireKey(ctx context.Context, game, id string, minAgeMS int64) (err error) {
	defer describe(&err, "retire a key")
	err = inAccessChange(ctx, t.database, func(c *accessChange) error {
		deleted, err := c.exec(ctx, deleteKey, game, id)
		if err == nil && deleted == 0 {
			err = identity.ErrNoKey
		}
		if err != nil {
			return err
		}
		if _, err := c.exec(ctx, updateKeysRevision); err != nil {
			return err
		}
		var hasOtherKey bool
		err = c.queryRow(ctx, selectOlderKey, game, c.now-minAgeMS).Scan(&hasOtherKey)
		if err == nil && !hasOtherKey {
			err = fmt.Errorf("%w: no other key is at least %d s old; rotate first, and wait", identity.ErrKeyInUse, minAgeMS/1000)
		}
		return err
	})
	return err
}
