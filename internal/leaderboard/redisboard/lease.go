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

// AcquireLease implements leaderboard.LeaseStore. The precision of ttl is 1 ms.
func (s *Store) AcquireLease(ctx context.Context, d leaderboard.Duty, holder string, ttl time.Duration) (bool, error) {
	held, err := leaseScript.Run(ctx, s.rdb, []string{leaseKey(d)}, holder, ttl.Milliseconds()).Bool()
	if err != nil {
		return false, fmt.Errorf("acquire the lease %s: %w", d.Name, err)
	}
	return held, nil
}

// ReleaseLease implements leaderboard.LeaseStore.
func (s *Store) ReleaseLease(ctx context.Context, d leaderboard.Duty, holder string) error {
	if err := releaseScript.Run(ctx, s.rdb, []string{leaseKey(d)}, holder).Err(); err != nil {
		return fmt.Errorf("release the lease %s: %w", d.Name, err)
	}
	return nil
}
