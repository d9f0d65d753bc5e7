package redisx

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSlewRunsSlowerUntilItEqualsTheReference(t *testing.T) {
	t.Parallel()
	steady := slew{offset: 1000}
	tests := map[string]struct {
		slew                   slew
		localTime, clusterTime int64
	}{
		"steady": {steady, 500, 1500},
		"a reference ahead is followed immediately":               {steady.slewTo(1300, 500), 500, 1800},
		"after a step forward, time runs at normal speed":         {steady.slewTo(1300, 500), 700, 2000},
		"a reference behind does not set time back":               {steady.slewTo(900, 500), 500, 1500},
		"towards a reference behind, time runs slower by a tenth": {steady.slewTo(900, 500), 600, 1590},
		"time equals the reference at last":                       {steady.slewTo(900, 500), 1500, 2400},
		"later, time still equals the reference":                  {steady.slewTo(900, 500), 2500, 3400},
		"half-way, towards another reference":                     {steady.slewTo(900, 500).slewTo(940, 1000), 1000, 1950},
		"time equals that reference earlier":                      {steady.slewTo(900, 500).slewTo(940, 1000), 1100, 2040},
	}
	for name, tt := range tests {
		if got := tt.slew.clusterTimeAt(tt.localTime); got != tt.clusterTime {
			t.Errorf("%s: reads %d at %d, want %d", name, got, tt.localTime, tt.clusterTime)
		}
	}
}

// With any steps of the reference, cluster time never goes back and is never behind the
// reference. The time by which it is ahead shrinks by a tenth of local time.
func TestSlewNeverFalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		second := int64(1e9)
		local, current := int64(0), slew{offset: rapid.Int64Range(-second, second).Draw(r, "start")}
		last := current.clusterTimeAt(local)
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			local += rapid.Int64Range(0, 5*second).Draw(r, "elapsed")
			before := current.aheadAt(local)
			if now := current.clusterTimeAt(local); now < last {
				r.Fatalf("time went back from %d to %d at %d", last, now, local)
			}
			offset := current.offset + rapid.Int64Range(-2*second, 2*second).Draw(r, "step")
			next := current.slewTo(offset, local)
			if next.clusterTimeAt(local) < current.clusterTimeAt(local) {
				r.Fatalf("a step set time back from %d to %d", current.clusterTimeAt(local), next.clusterTimeAt(local))
			}
			if want := max(0, before-(offset-current.offset)); next.aheadAt(local) != want {
				r.Fatalf("ahead by %d, want %d", next.aheadAt(local), want)
			}
			pass := rapid.Int64Range(0, second).Draw(r, "elapsed after the step")
			if left := next.aheadAt(local + pass); left < 0 || left > max(0, next.aheadAt(local)-pass/slewDivisor) {
				r.Fatalf("still ahead by %d of %d after %d", left, next.initialAhead, pass)
			}
			current, last = next, next.clusterTimeAt(local)
		}
	})
}
