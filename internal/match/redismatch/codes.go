package redismatch

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// codeTTL is how long a code stays claimed if it is never retired. It equals
	// the longest life of a match. A retired code stays claimed for
	// retiredCodeTTL.
	codeTTL        = matchTTLMS * time.Millisecond
	retiredCodeTTL = time.Hour
)

// Codes stores the join codes of arenas. It implements arena.Codes.
type Codes struct{ client redis.UniversalClient }

// ClaimCode reserves a code for a match and reports whether it is reserved for that
// match, see arena.Codes.
func (c *Codes) ClaimCode(ctx context.Context, game, code, id string) (bool, error) {
	holder, err := c.client.SetArgs(ctx, codeKey(game, code), id, redis.SetArgs{Mode: "NX", Get: true, TTL: codeTTL}).Result()
	if errors.Is(err, redis.Nil) {
		return true, nil
	}
	return holder == id, wrap("claim code", "", err)
}

// FindCode returns the match id of a code, or "", see arena.Codes.
func (c *Codes) FindCode(ctx context.Context, game, code string) (id string, err error) {
	id, err = c.client.Get(ctx, codeKey(game, code)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", wrap("find code", "", err)
	}
	return id, nil
}

// RetireCode frees a code after retiredCodeTTL, see arena.Codes.
func (c *Codes) RetireCode(ctx context.Context, game, code string) error {
	return wrap("retire code", "", c.client.PExpire(ctx, codeKey(game, code), retiredCodeTTL).Err())
}
