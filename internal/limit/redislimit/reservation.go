package redislimit

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/limit"
)

var (
	//go:embed reserve.lua
	reserveSource string
	//go:embed addsecret.lua
	addSecretSource string

	reserveScript   = redis.NewScript(reserveSource)
	addSecretScript = redis.NewScript(addSecretSource)
)

const (
	// reservationTTL is after what time without another reservation a reserved token
	// counts as spent: its node has died.
	reservationTTL = 10 * time.Second
	// secretTTL is how long secrets are kept after the last one was used.
	secretTTL = 24 * time.Hour
)

// reservedKey and secretsKey are in the hash slot of the bucket's key.
func reservedKey(rule, name string) string { return key(rule, name) + ":reserved" }
func secretsKey(rule, name string) string  { return key(rule, name) + ":known" }

// Reserve implements limit.Store.
func (s *Store) Reserve(ctx context.Context, d limit.Demand) (time.Duration, error) {
	wait, err := s.reserve(ctx, d, "reserve")
	if wait < 0 {
		return limit.RetrySoon, err
	}
	return time.Duration(wait) * time.Microsecond, err
}

// FinishReservation implements limit.Store.
func (s *Store) FinishReservation(ctx context.Context, d limit.Demand, spent bool) error {
	action := "return"
	if spent {
		action = "spend"
	}
	_, err := s.reserve(ctx, d, action)
	return err
}

func (s *Store) reserve(ctx context.Context, d limit.Demand, action string) (int64, error) {
	wait, err := reserveScript.Run(ctx, s.client, []string{key(d.Rule, d.Key), reservedKey(d.Rule, d.Key)},
		s.now()*1000, d.Interval.Microseconds(), d.Burst, action, reservationTTL.Milliseconds()).Int64()
	if err != nil {
		return 0, fmt.Errorf("redislimit: %s: %w", action, err)
	}
	return wait, nil
}

// AddSecret implements limit.Store.
func (s *Store) AddSecret(ctx context.Context, rule, key, secret string) error {
	err := addSecretScript.Run(ctx, s.client, []string{secretsKey(rule, key)},
		s.now(), secret, limit.MaxSecrets, secretTTL.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("redislimit: add secret: %w", err)
	}
	return nil
}

// ListSecrets implements limit.Store.
func (s *Store) ListSecrets(ctx context.Context, rule, key string) ([]string, error) {
	secrets, err := s.client.ZRange(ctx, secretsKey(rule, key), 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("redislimit: list secrets: %w", err)
	}
	return secrets, nil
}
