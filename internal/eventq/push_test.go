package eventq

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Few items of several games of a partition are pushed together. A push that
// cannot be combined, or has an unknown outcome, is made alone.
func TestFewItemsArePushedTogether(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]int{"answered": 0, "once without an answer": 1, "thrice": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				games := []string{"a", "e", "i"} // of one partition
				var all []Policy
				for _, game := range games {
					policy := policyOf(game)
					policy.FlushMS = 60_000
					all = append(all, policy)
				}
				w := newCluster(t, all...)
				n := w.start("n")
				defer n.stop()
				left := lost
				w.set(func() {
					w.loss = func(operation, _ string) error {
						if operation != "push all" || left == 0 {
							return nil
						}
						left--
						return errStore
					}
				})
				for i := range 2 {
					for _, game := range games {
						n.offer(game, 2*i, 2)
						time.Sleep(7 * time.Millisecond)
					}
					time.Sleep(5 * time.Second)
				}
				w.set(func() {
					if w.calls["push"] != len(games) || w.calls["push all"] != 2+lost {
						t.Errorf("calls: %v", w.calls)
					}
					for _, game := range games {
						if got := w.games[game].items; !slices.Equal(idsOf(got), ids(0, 4)) {
							t.Errorf("%s has %v", game, idsOf(got))
						}
					}
				})
				for _, game := range games {
					w.want(game, Counts{Offered: 4, Queued: 4})
				}
				if n.buffered.Load() != 0 {
					t.Errorf("%d are held", n.buffered.Load())
				}
			})
		})
	}
}

func idsOf(items []Item) (all []string) {
	for _, item := range items {
		all = append(all, item.ID)
	}
	return all
}
