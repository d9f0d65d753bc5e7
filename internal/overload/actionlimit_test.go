package overload

import (
	"testing"
	"testing/synctest"
	"time"
)

// A player without tokens is refused and gets a retry time. When the address has no
// tokens, players who have used more than AddressGrace tokens are refused.
func TestActionLimitRefusesPlayersAndAddressesWithoutTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limiter := NewLimiter(LimiterConfig{})
		actionLimit := &ActionLimit{
			PerPlayer:  limiter.NewRule(RuleConfig{Name: "each", Subject: "matches", Limit: 4, Per: time.Hour}),
			PerAddress: limiter.NewRule(RuleConfig{Name: "from", Subject: "matches", Limit: 6, Per: time.Hour}), AddressGrace: 1,
		}
		school := ObjectKey("", "school")
		checkWait := func(player Key) time.Duration {
			err := actionLimit.Check(player, school)
			if err == nil {
				return 0
			}
			return retryTime(t, err)
		}
		for range 4 {
			if checkWait(ada) != 0 {
				t.Error("refused too early")
			}
			actionLimit.CountAction(t.Context(), ada, school)
		}
		if got := checkWait(ada); got != 15*time.Minute {
			t.Errorf("ada waits %v", got)
		}
		actionLimit.CountAction(t.Context(), bob, school)
		actionLimit.CountAction(t.Context(), ObjectKey("demo", "cyd"), school)
		if checkWait(bob) != 0 || checkWait(ObjectKey("demo", "new")) != 0 {
			t.Error("players within AddressGrace are refused for another player's actions")
		}
		actionLimit.CountAction(t.Context(), bob, school)
		if checkWait(bob) == 0 {
			t.Error("a player above AddressGrace at an address without tokens is not refused")
		}
		time.Sleep(time.Hour)
		if checkWait(ada) != 0 || checkWait(bob) != 0 {
			t.Error("still refused after an hour")
		}
		if (*ActionLimit)(nil).Check(ada, school) != nil || (&ActionLimit{}).Check(ada, school) != nil {
			t.Error("refused without rules")
		}
	})
}

// CountAction also returns what other nodes have counted. Check does not use the store.
func TestActionLimitCountsActionsAtOtherNodes(t *testing.T) {
	t.Parallel()
	store := &fakeStore{wait: time.Minute}
	actionLimit := &ActionLimit{PerPlayer: NewLimiter(LimiterConfig{Store: store}).NewRule(RuleConfig{Name: "each", Limit: 4, Per: time.Hour, ClusterWide: true})}
	if err := actionLimit.Check(ada, bob); err != nil || len(store.demands) != 0 {
		t.Errorf("%v, the store was asked %d times", err, len(store.demands))
	}
	actionLimit.CountAction(t.Context(), ada, bob)
	if err := actionLimit.Check(ada, bob); retryTime(t, err) == 0 || len(store.demands) != 1 {
		t.Errorf("%v, the store was asked %d times", err, len(store.demands))
	}
}
