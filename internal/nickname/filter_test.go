package nickname_test

import (
	"math"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

// The filter is compared with a set: MayContain returns true for every added skeleton.
func TestFilterNeverDeniesAddedNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		filter := nickname.NewFilter(rapid.IntRange(0, 50).Draw(t, "expected"), 0.01)
		added := map[string]bool{}
		for _, skeleton := range rapid.SliceOf(rapid.String()).Draw(t, "skeletons") {
			filter.Add(skeleton)
			filter.Add(skeleton)
			added[skeleton] = true
		}
		for skeleton := range added {
			if !filter.MayContain(skeleton) {
				t.Fatalf("MayContain(%q) = false after Add", skeleton)
			}
		}
		if filter.Len() > len(added) {
			t.Fatalf("Len = %d, added %d", filter.Len(), len(added))
		}
	})
}

// The measured rate and the estimate equal Bloom's formula, up to twice the capacity
// of the filter.
func TestFilterRateFollowsTheory(t *testing.T) {
	t.Parallel()
	const names, rate, probes = 50_000, 0.01, 100_000
	filter := nickname.NewFilter(names, rate)
	for half := 1; half <= 4; half++ {
		for i := (half - 1) * names / 2; i < half*names/2; i++ {
			filter.Add("name" + strconv.Itoa(i))
		}
		mistaken := 0.0
		for i := range probes {
			if filter.MayContain("other" + strconv.Itoa(i)) {
				mistaken++
			}
		}
		theory := filter.ExpectedFalsePositiveRate(half * names / 2)
		spread := 5*math.Sqrt(theory*probes) + 0.02*theory*probes
		if math.Abs(mistaken-theory*probes) > spread {
			t.Errorf("%d names: %v false positives in %d lookups, want %.1f±%.1f", half*names/2, mistaken, probes, theory*probes, spread)
		}
		if estimate := filter.EstimatedFalsePositiveRate(); math.Abs(estimate-theory) > 0.03*theory {
			t.Errorf("%d names: estimated rate %v, want %v", half*names/2, estimate, theory)
		}
	}
	if theory := filter.ExpectedFalsePositiveRate(names); math.Abs(theory-rate) > 0.0005 {
		t.Errorf("the expected rate of a full filter is %v, want %v", theory, rate)
	}
	if per := float64(filter.Bytes()) / names; per > 1.2 {
		t.Errorf("%.3f bytes per name", per)
	}
	if got := float64(filter.Len()); got > 2*names || got < 2*names*0.95 {
		t.Errorf("Len = %v after %d names", got, 2*names)
	}
}

func TestAnEmptyFilterContainsNothing(t *testing.T) {
	t.Parallel()
	filter := nickname.NewFilter(100, 0.001)
	if filter.MayContain("ada") || filter.MayContain("") || filter.Len() != 0 {
		t.Error("an empty filter contains a name")
	}
}

func TestFilterIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	filter := nickname.NewFilter(1000, 0.01)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 500 {
				skeleton := strconv.Itoa(n*500 + i)
				filter.Add(skeleton)
				if !filter.MayContain(skeleton) || filter.Len() == 0 {
					t.Errorf("%q is not there after Add", skeleton)
				}
			}
		})
	}
	all.Wait()
	if got := filter.Len(); got < 1900 || got > 2000 {
		t.Errorf("Len = %d after 2000 names", got)
	}
}

func TestNewFilterRefusesARateOutOfRange(t *testing.T) {
	t.Parallel()
	for _, fp := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewFilter accepted the rate %v", fp)
				}
			}()
			nickname.NewFilter(10, fp)
		}()
	}
}
