package redisboard_test

import (
	"testing"
	"time"

	lb "laststand/internal/leaderboard"
)

func TestOneHolderHasALeaseAtATime(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		duty := lb.Duty{Game: s.cfg.Game, ConfigHash: s.cfg.Hash(), Name: "apply"}
		lease := func(d lb.Duty, holder string, ttl time.Duration) bool {
			t.Helper()
			held, err := s.AcquireLease(t.Context(), d, holder, ttl)
			if err != nil {
				t.Fatal(err)
			}
			return held
		}
		release := func(holder string) {
			t.Helper()
			if err := s.ReleaseLease(t.Context(), duty, holder); err != nil {
				t.Fatal(err)
			}
		}
		other := duty
		other.Name = "build"
		for range 2 {
			if !lease(duty, "a", time.Hour) {
				t.Fatal("a free lease was not acquired, or not renewed")
			}
		}
		if lease(duty, "b", time.Hour) || !lease(other, "b", time.Hour) {
			t.Fatal("a held lease was acquired by another holder, or a free one was not acquired")
		}
		release("b")
		if lease(duty, "b", time.Hour) {
			t.Fatal("another holder released the lease")
		}
		release("a")
		release("a")
		if !lease(duty, "b", 20*time.Millisecond) {
			t.Fatal("a released lease was not acquired")
		}
		deadline := time.Now().Add(10 * time.Second)
		for !lease(duty, "a", time.Hour) {
			if time.Now().After(deadline) {
				t.Fatal("the lease does not expire")
			}
		}
		if lease(duty, "b", time.Hour) {
			t.Fatal("a holder renewed a lease that it had lost")
		}
	})
}
