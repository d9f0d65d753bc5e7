package ws

import (
	"math"
	"time"
)

// started is what instants of the monotonic clock are reckoned from, so that one
// is 8 bytes: several in each session.
var started = time.Now()

func sinceStart() time.Duration { return time.Since(started) }

// pace bounds how often a session may ask: a token bucket of a whole number of
// tokens, at least one, that is full at first. It is not safe for concurrent use.
type pace struct {
	tokens float64
	at     time.Duration    // when they were so many, since started
	faults [2]time.Duration // the last two times that it was passed
}

func newPace(now time.Duration, perSecond float64) pace {
	never := now - faultsWithin
	return pace{tokens: burst(perSecond), at: now, faults: [2]time.Duration{never, never}}
}

// burst is how many tokens a bucket holds.
func burst(perSecond float64) float64 { return max(math.Trunc(perSecond), 1) }

// take takes a cost, where it is there.
func (p *pace) take(now time.Duration, perSecond float64, cost int) bool {
	left := min(p.tokens+perSecond*(now-p.at).Seconds(), burst(perSecond))
	if left < float64(cost) {
		return false
	}
	p.tokens, p.at = left-float64(cost), now
	return true
}

// charge takes a cost that is known only afterwards. It leaves a quarter of the
// bucket, so that the next few messages pass at once.
func (p *pace) charge(now time.Duration, perSecond, cost float64) {
	full := burst(perSecond)
	left := min(p.tokens+perSecond*(now-p.at).Seconds(), full)
	p.tokens, p.at = max(left-cost, min(left, full/4)), now
}

// fault notes that it was passed, and says whether that is the third time within
// faultsWithin.
func (p *pace) fault(now time.Duration) (third bool) {
	third = now-p.faults[0] < faultsWithin
	p.faults[0], p.faults[1] = p.faults[1], now
	return third
}
