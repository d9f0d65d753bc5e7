package limit

import (
	"testing"
	"testing/synctest"
	"time"
)

// A player without tokens is refused and gets a retry time. When the address has no
// tokens, players who have used more than AddressGrace tokens are refused.
func TestActionLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{})
		d := &ActionLimit{
			PerPlayer:  l.Rule(RuleConfig{Name: "each", Subject: "matches", Limit: 4, Per: time.Hour}),
			PerAddress: l.Rule(RuleConfig{Name: "from", Subject: "matches", Limit: 6, Per: time.Hour}), Free: 1,
		}
		school := Named("", "school")
		wait := func(by Key) time.Duration {
			err := d.Check(by, school)
			if err == nil {
				return 0
			}
			return refusedFor(t, err)
		}
		for range 4 {
			if wait(ada) != 0 {
				t.Error("refused too early")
			}
			d.Count(t.Context(), ada, school)
		}
		if got := wait(ada); got != 15*time.Minute {
			t.Errorf("ada waits %v", got)
		}
		d.Count(t.Context(), bob, school)
		d.Count(t.Context(), Named("demo", "cyd"), school)
		if wait(bob) != 0 || wait(Named("demo", "new")) != 0 {
			t.Error("players below Free are refused for another player's actions")
		}
		d.Count(t.Context(), bob, school)
		if wait(bob) == 0 {
			t.Error("a player above Free on a used-up address is not refused")
		}
		time.Sleep(time.Hour)
		if wait(ada) != 0 || wait(bob) != 0 {
			t.Error("refused for good")
		}
		if (*ActionLimit)(nil).Check(ada, school) != nil || (&ActionLimit{}).Check(ada, school) != nil {
			t.Error("without rules it refuses")
		}
	})
}

// CountAction also returns what other nodes have counted. Check does not use the store.
func TestActionLimitOverNodes(t *testing.T) {
	t.Parallel()
	s := &fakeStore{wait: time.Minute}
	d := &ActionLimit{PerPlayer: New(Config{Store: s}).Rule(RuleConfig{Name: "each", Limit: 4, Per: time.Hour, ClusterWide: true})}
	if err := d.Check(ada, bob); err != nil || len(s.demands) != 0 {
		t.Errorf("%v, asked %d times", err, len(s.demands))
	}
	d.Count(t.Context(), ada, bob)
	if err := d.Check(ada, bob); refusedFor(t, err) == 0 || len(s.demands) != 1 {
		t.Errorf("%v, asked %d times", err, len(s.demands))
	}
}
