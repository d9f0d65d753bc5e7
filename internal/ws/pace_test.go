package ws

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"
)

// A bucket gives what that of the library does.
func TestPace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.SampledFrom([]float64{0.25, 0.5, 1, 2.5, 8, 20, 1024}).Draw(t, "per second")
		now := time.Duration(0)
		p, want := newPace(now, perSecond), rate.NewLimiter(rate.Limit(perSecond), max(int(perSecond), 1))
		for range rapid.IntRange(1, 60).Draw(t, "messages") {
			now += time.Duration(rapid.IntRange(0, 32).Draw(t, "later")) * time.Second / 64
			cost := min(rapid.IntRange(1, 3).Draw(t, "cost"), int(burst(perSecond)))
			if got, want := p.take(now, perSecond, cost), want.AllowN(started.Add(now), cost); got != want {
				t.Fatalf("%d after %v: %v, want %v", cost, now, got, want)
			}
		}
	})
}
