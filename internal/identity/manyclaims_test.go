package identity

import (
	"math"
	"strconv"
	"testing"
	"time"

	"laststand/internal/nickname"
)

// A hundred thousand free names are claimed, while the view grows from a sixth of
// that size. None is refused. The number of false positives, which ask the store,
// is as the theory predicts.
func TestManyClaimsAgainstTheory(t *testing.T) {
	t.Parallel()
	const claims, first = 100_000, 1 << 14
	s := newStore()
	c := configOf(s, tokensOf(t, s, nil))
	c.firstNames = first
	r := Open(c)
	read(t, r)
	k, expected := r.views[game], 0.0
	for i := range claims {
		n := nickname.Name{Display: "x", Skeleton: strconv.Itoa(i * 7919)}
		f := k.active.Load()
		expected += f.TheoreticalRate(f.Len())
		free, err := r.isFree(t.Context(), game, n)
		if err != nil || !free {
			t.Fatalf("claim %d: free %v, %v", i, free, err)
		}
		s.names[[2]string{game, n.Skeleton}] = "p_somebody"
		k.add(n)
		if k.isFull() {
			r.replicator.requestLargerViews()
			r.replicator.buildRequested(t.Context(), map[string]time.Time{})
		}
	}
	if got, spread := float64(k.lookups[mistaken].Load()), 5*math.Sqrt(expected); math.Abs(got-expected) > spread || got == 0 {
		t.Errorf("%v of %d are false positives, want %.0f±%.0f", got, claims, expected, spread)
	}
	if got := int64(s.asked); got != k.lookups[mistaken].Load() || k.lookups[notIn].Load()+got != claims {
		t.Errorf("%d queries, %d false positives, %d absent", got, k.lookups[mistaken].Load(), k.lookups[notIn].Load())
	}
	if f := k.active.Load(); f.Cap() != 8*first || s.builds != 4 {
		t.Errorf("sized for %d names after %d builds", f.Cap(), s.builds)
	}
}
