package limit

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who has done too much is refused and told when to come again. Then the address
// is spent, others from there are refused once they have done more than is free.
func TestDeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{})
		d := &Deeds{
			Each: l.Rule(Terms{Name: "each", What: "matches", Most: 4, Per: time.Hour}),
			From: l.Rule(Terms{Name: "from", What: "matches", Most: 6, Per: time.Hour}), Free: 1,
		}
		school := Named("", "school")
		wait := func(by Key) time.Duration {
			err := d.Refuse(by, school)
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
			t.Error("those who have done little are shut out by another's doing")
		}
		d.Count(t.Context(), bob, school)
		if wait(bob) == 0 {
			t.Error("who goes on from a spent address is not refused")
		}
		time.Sleep(time.Hour)
		if wait(ada) != 0 || wait(bob) != 0 {
			t.Error("refused for good")
		}
		if (*Deeds)(nil).Refuse(ada, school) != nil || (&Deeds{}).Refuse(ada, school) != nil {
			t.Error("without rules it refuses")
		}
	})
}

// What other nodes have counted is learnt with a count: then nothing is asked.
func TestDeedsOverNodes(t *testing.T) {
	t.Parallel()
	s := &store{wait: time.Minute}
	d := &Deeds{Each: New(Config{Shared: s}).Rule(Terms{Name: "each", Most: 4, Per: time.Hour, Wide: true})}
	if err := d.Refuse(ada, bob); err != nil || len(s.asked) != 0 {
		t.Errorf("%v, asked %d times", err, len(s.asked))
	}
	d.Count(t.Context(), ada, bob)
	if err := d.Refuse(ada, bob); refusedFor(t, err) == 0 || len(s.asked) != 1 {
		t.Errorf("%v, asked %d times", err, len(s.asked))
	}
}
