package redisstore_test

import (
	"testing"
	"time"

	lb "laststand/internal/leaderboard"

	"laststand/internal/testenv"
)

func TestOneHolderHasALeaseAtATime(t *testing.T) {
	eachStore(t, func(t *testing.T, fixture *storeFixture) {
		applyLease := lb.LeaseID{Game: fixture.cfg.Game, Work: "apply"}
		acquire := func(leaseID lb.LeaseID, holder string, ttl time.Duration) bool {
			t.Helper()
			isHolder := testenv.Need(fixture.SetLease(t.Context(), leaseID, holder, ttl))(t)
			return isHolder
		}
		release := func(holder string) {
			t.Helper()
			if isHolder, err := fixture.SetLease(t.Context(), applyLease, holder, 0); err != nil || isHolder != (holder == "a") {
				t.Fatal(isHolder, err)
			}
		}
		buildLease := applyLease
		buildLease.Work = "build"
		for range 2 {
			if !acquire(applyLease, "a", time.Hour) {
				t.Fatal("a free lease was not acquired, or not renewed")
			}
		}
		if acquire(applyLease, "b", time.Hour) || !acquire(buildLease, "b", time.Hour) {
			t.Fatal("a held lease was acquired by another holder, or a free one was not acquired")
		}
		release("b")
		if acquire(applyLease, "b", time.Hour) {
			t.Fatal("another holder released the lease")
		}
		release("a")
		release("a")
		if !acquire(applyLease, "b", 20*time.Millisecond) {
			t.Fatal("a released lease was not acquired")
		}
		deadline := time.Now().Add(10 * time.Second)
		for !acquire(applyLease, "a", time.Hour) {
			if time.Now().After(deadline) {
				t.Fatal("the lease does not expire")
			}
		}
		if acquire(applyLease, "b", time.Hour) {
			t.Fatal("a holder renewed a lease that it had lost")
		}
	})
}
