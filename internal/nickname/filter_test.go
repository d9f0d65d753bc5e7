package nickname_test

import (
	"math"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

// With a set as the oracle: added skeletons are never denied.
func TestFilterNeverDeniesAddedNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := nickname.NewFilter(rapid.IntRange(0, 50).Draw(t, "expected"), 0.01)
		added := map[string]bool{}
		for _, s := range rapid.SliceOf(rapid.String()).Draw(t, "skeletons") {
			f.Add(s)
			f.Add(s)
			added[s] = true
		}
		for s := range added {
			if !f.MayHave(s) {
				t.Fatalf("MayHave(%q) = false after Add", s)
			}
		}
		if f.Len() > len(added) {
			t.Fatalf("Len = %d, added %d", f.Len(), len(added))
		}
	})
}

// The measured rate and the estimate equal Bloom's formula, up to twice the capacity
// of the filter.
func TestFilterRateFollowsTheory(t *testing.T) {
	t.Parallel()
	const names, rate, probes = 50_000, 0.01, 100_000
	f := nickname.NewFilter(names, rate)
	for half := 1; half <= 4; half++ {
		for i := (half - 1) * names / 2; i < half*names/2; i++ {
			f.Add("name" + strconv.Itoa(i))
		}
		mistaken := 0.0
		for i := range probes {
			if f.MayHave("other" + strconv.Itoa(i)) {
				mistaken++
			}
		}
		theory := f.TheoreticalRate(half * names / 2)
		spread := 5*math.Sqrt(theory*probes) + 0.02*theory*probes
		if math.Abs(mistaken-theory*probes) > spread {
			t.Errorf("%d names: %v of %d mistaken for known, theory says %.1f±%.1f", half*names/2, mistaken, probes, theory*probes, spread)
		}
		if e := f.EstimatedRate(); math.Abs(e-theory) > 0.03*theory {
			t.Errorf("%d names: estimated %v, theory says %v", half*names/2, e, theory)
		}
	}
	if theory := f.TheoreticalRate(names); math.Abs(theory-rate) > 0.0005 {
		t.Errorf("full, theory says %v, made for %v", theory, rate)
	}
	if per := float64(f.Bytes()) / names; per > 1.2 {
		t.Errorf("%.3f bytes per name", per)
	}
	if got := float64(f.Len()); got > 2*names || got < 2*names*0.95 {
		t.Errorf("Len = %v after %d names", got, 2*names)
	}
}

func TestEmptyFilterHasNothing(t *testing.T) {
	t.Parallel()
	f := nickname.NewFilter(100, 0.001)
	if f.MayHave("ada") || f.MayHave("") || f.Len() != 0 {
		t.Error("an empty filter contains a name")
	}
}

func TestFilterIsShared(t *testing.T) {
	t.Parallel()
	f := nickname.NewFilter(1000, 0.01)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 500 {
				s := strconv.Itoa(n*500 + i)
				f.Add(s)
				if !f.MayHave(s) || f.Len() == 0 {
					t.Errorf("%q is not there after Add", s)
				}
			}
		})
	}
	all.Wait()
	if got := f.Len(); got < 1900 || got > 2000 {
		t.Errorf("Len = %d after 2000 names", got)
	}
}

func TestNewFilterRefusesARateThatIsNone(t *testing.T) {
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
