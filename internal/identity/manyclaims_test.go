package identity

import (
	"math"
	"strconv"
	"testing"

	"github.com/bits-and-blooms/bloom/v3"

	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

// expectedRate returns the false positive rate that Bloom's formula predicts for a filter.
func expectedRate(filter *nickname.Filter) float64 {
	bits, hashes := bloom.EstimateParameters(uint(filter.Cap()), filter.FalsePositiveRate())
	return math.Pow(1-math.Exp(-float64(hashes)*float64(filter.Len())/float64(bits)), float64(hashes))
}

// A hundred thousand free names are claimed, while the view grows from a sixth of that size.
// No claim is refused. The number of false positives, each of which costs a query of the
// store, agrees with Bloom's formula.
func TestFalsePositivesMatchTheory(t *testing.T) {
	t.Parallel()
	const claims, initialNames = 100_000, 1 << 14
	store := newStore()
	config := newTestConfig(t, store, openTestTokens(t, store, nil))
	config.initialFilterCapacity = initialNames
	registry := Open(config)
	readNames(t, registry)
	view, expected := registry.views[game], 0.0
	for i := range claims {
		name := nickname.Name{Display: "x", Skeleton: strconv.Itoa(i * 7919)}
		filter := view.active.Load()
		expected += expectedRate(filter)
		free, err := registry.isFree(t.Context(), game, name)
		if err != nil || !free {
			t.Fatalf("claim %d: free %v, %v", i, free, err)
		}
		store.names[[2]string{game, name.Skeleton}] = "p_somebody"
		view.add(name.Skeleton)
		if view.buildCause() != "" {
			testenv.Need(true, registry.replicator.buildViews(t.Context()))(t)
		}
	}
	if got, tolerance := float64(view.lookups[lookupFalsePositive].Load()), 5*math.Sqrt(expected); math.Abs(got-expected) > tolerance || got == 0 {
		t.Errorf("%v of %d are false positives, want %.0f±%.0f", got, claims, expected, tolerance)
	}
	if got := int64(store.takenQueries); got != view.lookups[lookupFalsePositive].Load() || view.lookups[lookupAbsent].Load()+got != claims {
		t.Errorf("%d queries, %d false positives, %d absent", got, view.lookups[lookupFalsePositive].Load(), view.lookups[lookupAbsent].Load())
	}
	if filter := view.active.Load(); filter.Cap() != 8*initialNames || store.skeletonReads != 4 {
		t.Errorf("sized for %d names after %d builds", filter.Cap(), store.skeletonReads)
	}
}
