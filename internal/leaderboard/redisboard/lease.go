package redisboard

import (
	"context"
	"fmt"
	"time"

	_ "embed"

	"laststand/internal/leaderboard"
)

//go:embed lease.lua
var leaseLua string

//go:embed release.lua
var releaseLua string

var (
	leaseScript   = script(leaseLua)
	releaseScript = script(releaseLua)
)

// AcquireLease implements leaderboard.Leases, with a precision of 1 ms.
func (s *Store) AcquireLease(ctx context.Context, d leaderboard.Duty, holder string, ttl time.Duration) (bool, error) {
	held, err := leaseScript.Run(ctx, s.rdb, []string{leaseKey(d)}, holder, ttl.Milliseconds()).Bool()
	if err != nil {
		return false, fmt.Errorf("take the lease of %s: %w", d.Name, err)
	}
	return held, nil
}

// ReleaseLease implements leaderboard.Leases.
func (s *Store) ReleaseLease(ctx context.Context, d leaderboard.Duty, holder string) error {
	if err := releaseScript.Run(ctx, s.rdb, []string{leaseKey(d)}, holder).Err(); err != nil {
		return fmt.Errorf("give back the lease of %s: %w", d.Name, err)
	}
	return nil
}
