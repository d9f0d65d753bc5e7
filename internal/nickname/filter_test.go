package nickname_test

import (
	"math"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

// Against a set as the oracle: what was added is never denied.
func TestFilterNeverDeniesWhatItHas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := nickname.NewFilter(rapid.UintRange(0, 50).Draw(t, "expected"), 0.01)
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

func TestFilterKeepsItsRate(t *testing.T) {
	t.Parallel()
	const names, rate = 20_000, 0.01
	f := nickname.NewFilter(names, rate)
	for i := range names {
		f.Add("name" + strconv.Itoa(i))
	}
	mistaken := 0
	for i := range names {
		if f.MayHave("other" + strconv.Itoa(i)) {
			mistaken++
		}
	}
	if mistaken > names*rate*2 || mistaken == names {
		t.Errorf("%d of %d names mistaken for known", mistaken, names)
	}
	if got := f.Len(); got > names || got < names*(1-rate) {
		t.Errorf("Len = %d after %d names", got, names)
	}
}

func TestEmptyFilterHasNothing(t *testing.T) {
	t.Parallel()
	f := nickname.NewFilter(100, 0.001)
	if f.MayHave("ada") || f.MayHave("") || f.Len() != 0 {
		t.Error("an empty filter has something")
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
}

func TestNewFilterRefusesARateThatIsNone(t *testing.T) {
	t.Parallel()
	for _, fp := range []float64{0, 1, -1, 2, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewFilter took the rate %v", fp)
				}
			}()
			nickname.NewFilter(10, fp)
		}()
	}
}
