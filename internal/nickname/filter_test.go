package nickname_test

import (
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/bits-and-blooms/bloom/v3"
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

// expectedRate returns the rate that theory predicts for n different skeletons, k bits per
// skeleton and m bits: (1-e^(-kn/m))^k (Bloom 1970; Broder and Mitzenmacher 2004, section
// 2.1).
func expectedRate(filter *nickname.Filter, skeletons int) float64 {
	bits, hashes := bloom.EstimateParameters(uint(filter.Cap()), filter.FalsePositiveRate())
	return math.Pow(1-math.Exp(-float64(hashes)*float64(skeletons)/float64(bits)), float64(hashes))
}

// The measured rate and the estimate equal Bloom's formula, up to twice the capacity
// of the filter.
func TestFilterRateFollowsTheory(t *testing.T) {
	t.Parallel()
	const names, rate, probes = 50_000, 0.01, 100_000
	filter := nickname.NewFilter(names, rate)
	for halves := 1; halves <= 4; halves++ {
		for i := (halves - 1) * names / 2; i < halves*names/2; i++ {
			filter.Add("name" + strconv.Itoa(i))
		}
		falsePositives := 0.0
		for i := range probes {
			if filter.MayContain("other" + strconv.Itoa(i)) {
				falsePositives++
			}
		}
		expected := expectedRate(filter, halves*names/2)
		tolerance := 5*math.Sqrt(expected*probes) + 0.02*expected*probes
		if math.Abs(falsePositives-expected*probes) > tolerance {
			t.Errorf("%d names: %v false positives in %d lookups, want %.1f±%.1f", halves*names/2, falsePositives, probes, expected*probes, tolerance)
		}
		if estimate := filter.EstimatedFalsePositiveRate(); math.Abs(estimate-expected) > 0.03*expected {
			t.Errorf("%d names: estimated rate %v, want %v", halves*names/2, estimate, expected)
		}
	}
	if full := expectedRate(filter, names); math.Abs(full-rate) > 0.0005 {
		t.Errorf("the expected rate of a full filter is %v, want %v", full, rate)
	}
	if bytesPerName := float64(filter.Bytes()) / names; bytesPerName > 1.2 {
		t.Errorf("%.3f bytes per name", bytesPerName)
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
	var goroutines sync.WaitGroup
	for goroutine := range 4 {
		goroutines.Go(func() {
			for i := range 500 {
				skeleton := strconv.Itoa(goroutine*500 + i)
				filter.Add(skeleton)
				if !filter.MayContain(skeleton) || filter.Len() == 0 {
					t.Errorf("%q is not there after Add", skeleton)
				}
			}
		})
	}
	goroutines.Wait()
	if got := filter.Len(); got < 1900 || got > 2000 {
		t.Errorf("Len = %d after 2000 names", got)
	}
}

func TestNewFilterRefusesARateOutOfRange(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewFilter accepted the rate %v", rate)
				}
			}()
			nickname.NewFilter(10, rate)
		}()
	}
}
