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
				t.Fatal("a free duty was not taken, or not kept")
			}
		}
		if lease(duty, "b", time.Hour) || !lease(other, "b", time.Hour) {
			t.Fatal("a duty was taken from another, or for another")
		}
		release("b")
		if lease(duty, "b", time.Hour) {
			t.Fatal("a duty was given back by another")
		}
		release("a")
		release("a")
		if !lease(duty, "b", 20*time.Millisecond) {
			t.Fatal("a duty that was given back was not taken")
		}
		deadline := time.Now().Add(10 * time.Second)
		for !lease(duty, "a", time.Hour) {
			if time.Now().After(deadline) {
				t.Fatal("a duty outlives its lease")
			}
		}
		if lease(duty, "b", time.Hour) {
			t.Fatal("a duty was kept by who lost it")
		}
	})
}
