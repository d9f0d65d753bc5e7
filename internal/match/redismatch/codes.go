package redismatch

import (
	"context"
	"errors"
	"fmt"
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

// ClaimCode reserves a code for a match and reports whether it is reserved for that
// match, see arena.Codes.
func (s *Store) ClaimCode(ctx context.Context, game, code, id string) (bool, error) {
	holder, err := s.client.SetArgs(ctx, codeKey(game, code), id, redis.SetArgs{Mode: "NX", Get: true, TTL: codeTTL}).Result()
	if errors.Is(err, redis.Nil) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("redismatch: claim code: %w", err)
	}
	return holder == id, nil
}

// FindCode returns the match id of a code, or "", see arena.Codes.
func (s *Store) FindCode(ctx context.Context, game, code string) (id string, err error) {
	id, err = s.client.Get(ctx, codeKey(game, code)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("redismatch: find code: %w", err)
	}
	return id, nil
}

// RetireCode frees a code after retiredCodeTTL, see arena.Codes.
func (s *Store) RetireCode(ctx context.Context, game, code string) error {
	if err := s.client.PExpire(ctx, codeKey(game, code), retiredCodeTTL).Err(); err != nil {
		return fmt.Errorf("redismatch: retire code: %w", err)
	}
	return nil
}
