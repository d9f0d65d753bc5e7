package redisx

import (
	"testing"

	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	t.Parallel()
	steady := line{offset: 1000}
	tests := map[string]struct {
		line      line
		at, reads int64
	}{
		"steady":                      {steady, 500, 1500},
		"ahead is taken at once":      {steady.towards(1300, 500), 500, 1800},
		"and goes on as fast":         {steady.towards(1300, 500), 700, 2000},
		"behind does not go back":     {steady.towards(900, 500), 500, 1500},
		"but slower by a tenth":       {steady.towards(900, 500), 600, 1590},
		"until they meet":             {steady.towards(900, 500), 1500, 2400},
		"and never falls behind":      {steady.towards(900, 500), 2500, 3400},
		"half-way towards another":    {steady.towards(900, 500).towards(940, 1000), 1000, 1950},
		"which it then meets earlier": {steady.towards(900, 500).towards(940, 1000), 1100, 2040},
	}
	for name, tt := range tests {
		if got := tt.line.read(tt.at); got != tt.reads {
			t.Errorf("%s: reads %d at %d, want %d", name, got, tt.at, tt.reads)
		}
	}
}

// Wherever the reference goes, the line never falls, is never behind it, and
// what it is ahead shrinks by a tenth of the time.
func TestLineNeverFalls(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		second := int64(1e9)
		local, l := int64(0), line{offset: rapid.Int64Range(-second, second).Draw(r, "start")}
		last := l.read(local)
		for range rapid.IntRange(1, 30).Draw(r, "turns") {
			local += rapid.Int64Range(0, 5*second).Draw(r, "pass")
			before := l.aheadAt(local)
			if now := l.read(local); now < last {
				r.Fatalf("fell from %d to %d at %d", last, now, local)
			}
			offset := l.offset + rapid.Int64Range(-2*second, 2*second).Draw(r, "jump")
			next := l.towards(offset, local)
			if next.read(local) < l.read(local) {
				r.Fatalf("fell from %d to %d by a turn", l.read(local), next.read(local))
			}
			if want := max(0, before-(offset-l.offset)); next.aheadAt(local) != want {
				r.Fatalf("ahead by %d, want %d", next.aheadAt(local), want)
			}
			pass := rapid.Int64Range(0, second).Draw(r, "further")
			if left := next.aheadAt(local + pass); left < 0 || left > max(0, next.aheadAt(local)-pass/slowBy) {
				r.Fatalf("still ahead by %d of %d after %d", left, next.ahead, pass)
			}
			l, last = next, next.read(local)
		}
	})
}
