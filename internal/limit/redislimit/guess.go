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
	//go:embed hold.lua
	holdSource string
	//go:embed vouch.lua
	vouchSource string

	holdScript  = redis.NewScript(holdSource)
	vouchScript = redis.NewScript(vouchSource)
)

const (
	// lapse is after what time without another a token that is held counts as
	// spent: its node has died.
	lapse = 10 * time.Second
	// vouchedFor is how long secrets are kept after the last that was shown.
	vouchedFor = 24 * time.Hour
)

// heldKey and vouchedKey are of the slot of the bucket's key.
func heldKey(rule, of string) string    { return key(rule, of) + ":held" }
func vouchedKey(rule, of string) string { return key(rule, of) + ":vouched" }

// Hold implements limit.Shared.
func (s *Store) Hold(ctx context.Context, d limit.Demand) (time.Duration, error) {
	wait, err := s.hold(ctx, d, "hold")
	if wait < 0 {
		return limit.Soon, err
	}
	return time.Duration(wait) * time.Microsecond, err
}

// Settle implements limit.Shared.
func (s *Store) Settle(ctx context.Context, d limit.Demand, spent bool) error {
	end := "give"
	if spent {
		end = "keep"
	}
	_, err := s.hold(ctx, d, end)
	return err
}

func (s *Store) hold(ctx context.Context, d limit.Demand, what string) (int64, error) {
	wait, err := holdScript.Run(ctx, s.client, []string{key(d.Rule, d.Key), heldKey(d.Rule, d.Key)},
		s.now()*1000, d.Interval.Microseconds(), d.Burst, what, lapse.Milliseconds()).Int64()
	if err != nil {
		return 0, fmt.Errorf("redislimit: %s: %w", what, err)
	}
	return wait, nil
}

// Vouch implements limit.Shared.
func (s *Store) Vouch(ctx context.Context, rule, of, secret string) error {
	err := vouchScript.Run(ctx, s.client, []string{vouchedKey(rule, of)},
		s.now(), secret, limit.MostVouched, vouchedFor.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("redislimit: vouch: %w", err)
	}
	return nil
}

// Vouched implements limit.Shared.
func (s *Store) Vouched(ctx context.Context, rule, of string) ([]string, error) {
	secrets, err := s.client.ZRange(ctx, vouchedKey(rule, of), 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("redislimit: vouched: %w", err)
	}
	return secrets, nil
}
