package redisstore

import (
	"context"
	"time"

	"laststand/internal/leaderboard"
)

var (
	leaseScript   = newScript("board_lease")
	releaseScript = newScript("board_release")
)

// AcquireLease implements leaderboard.LeaseStore. The precision of ttl is 1 ms.
func (s *Boards) AcquireLease(ctx context.Context, leaseID leaderboard.LeaseID, holder string, ttl time.Duration) (bool, error) {
	isHolder, err := leaseScript.Run(ctx, s.rdb, []string{leaseKey(leaseID)}, holder, ttl.Milliseconds()).Bool()
	return isHolder, wrap("acquire the lease "+leaseID.Work, err)
}

// ReleaseLease implements leaderboard.LeaseStore.
func (s *Boards) ReleaseLease(ctx context.Context, leaseID leaderboard.LeaseID, holder string) error {
	return wrap("release the lease "+leaseID.Work, releaseScript.Run(ctx, s.rdb, []string{leaseKey(leaseID)}, holder).Err())
}
