package redisstore

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/limit"
)

const (
	// reservationTTL is how long the number of reserved tokens is stored after the last
	// reservation. After it reserved tokens count as spent, because their node has
	// stopped.
	reservationTTL = 10 * time.Second
	// secretTTL is how long a key's secrets are stored after the last one was added.
	secretTTL = 24 * time.Hour
)

// reservedTokensKey and secretsKey return keys in the same hash slot as bucketKey.
func reservedTokensKey(rule, name string) string { return bucketKey(rule, name) + ":reserved" }
func secretsKey(rule, name string) string        { return bucketKey(rule, name) + ":known" }

// Reserve takes one token that may be returned. It returns 0, how long until a token is
// available, or limit.RetrySoon if all tokens are reserved.
func (s *Limits) Reserve(ctx context.Context, demand limit.SharedDemand) (time.Duration, error) {
	wait, err := s.reserve(ctx, demand, "reserve")
	if wait < 0 {
		return limit.RetrySoon, err
	}
	return time.Duration(wait) * time.Microsecond, err
}

// FinishReservation ends a reservation. If spent is false, it returns the token.
func (s *Limits) FinishReservation(ctx context.Context, demand limit.SharedDemand, spent bool) error {
	action := "return"
	if spent {
		action = "spend"
	}
	_, err := s.reserve(ctx, demand, action)
	return err
}

// reserve runs reserve_token.lua with an action: reserve, spend or return. It returns the wait
// in microseconds, -1 if all tokens are reserved.
func (s *Limits) reserve(ctx context.Context, demand limit.SharedDemand, action string) (int64, error) {
	wait, err := reserveTokenScript.Run(ctx, s.client, []string{bucketKey(demand.Rule, demand.Key), reservedTokensKey(demand.Rule, demand.Key)},
		s.now()*1000, demand.Interval.Microseconds(), demand.Burst, action, reservationTTL.Milliseconds()).Int64()
	if err != nil {
		return 0, fmt.Errorf("redisstore: %s token: %w", action, err)
	}
	return wait, nil
}

// AddSecret adds a right secret of a key. Only the newest limit.MaxSecretsPerKey stay.
func (s *Limits) AddSecret(ctx context.Context, rule, key, secret string) error {
	err := addSecretScript.Run(ctx, s.client, []string{secretsKey(rule, key)},
		s.now(), secret, limit.MaxSecretsPerKey, secretTTL.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("redisstore: add secret: %w", err)
	}
	return nil
}

// ListSecrets returns the right secrets of a key, oldest first.
func (s *Limits) ListSecrets(ctx context.Context, rule, key string) ([]string, error) {
	secrets, err := s.client.ZRange(ctx, secretsKey(rule, key), 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("redisstore: list secrets: %w", err)
	}
	return secrets, nil
}
