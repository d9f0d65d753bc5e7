package redisboard

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/leaderboard"
)

var (
	leaseScript   = newScript("lease")
	releaseScript = newScript("release")
)

// AcquireLease implements leaderboard.LeaseStore. The precision of ttl is 1 ms.
func (s *Store) AcquireLease(ctx context.Context, leaseID leaderboard.LeaseID, holder string, ttl time.Duration) (bool, error) {
	isHolder, err := leaseScript.Run(ctx, s.rdb, []string{leaseKey(leaseID)}, holder, ttl.Milliseconds()).Bool()
	if err != nil {
		return false, fmt.Errorf("acquire the lease %s: %w", leaseID.Work, err)
	}
	return isHolder, nil
}

// ReleaseLease implements leaderboard.LeaseStore.
func (s *Store) ReleaseLease(ctx context.Context, leaseID leaderboard.LeaseID, holder string) error {
	if err := releaseScript.Run(ctx, s.rdb, []string{leaseKey(leaseID)}, holder).Err(); err != nil {
		return fmt.Errorf("release the lease %s: %w", leaseID.Work, err)
	}
	return nil
}
