package ws

import (
	"math"
	"time"
)

// started is the zero of this package's monotonic times. They are durations since then,
// 8 bytes each, since a session has several.
var started = time.Now()

func sinceStart() time.Duration { return time.Since(started) }

// messageLimiter bounds how many messages a session may send. It is a token bucket with
// a whole number of tokens, at least one, that starts full. It is not safe for
// concurrent use.
type messageLimiter struct {
	tokens     float64
	updated    time.Duration    // when tokens was computed, since started
	violations [2]time.Duration // the last two refusals, older one first, since started
}

func newMessageLimiter(now time.Duration, perSecond float64) messageLimiter {
	longAgo := now - violationWindow
	return messageLimiter{tokens: burst(perSecond), updated: now, violations: [2]time.Duration{longAgo, longAgo}}
}

// burst returns how many tokens a full bucket holds.
func burst(perSecond float64) float64 { return max(math.Trunc(perSecond), 1) }

// allow takes cost tokens, or returns false if the bucket has fewer.
func (l *messageLimiter) allow(now time.Duration, perSecond float64, cost int) bool {
	left := min(l.tokens+perSecond*(now-l.updated).Seconds(), burst(perSecond))
	if left < float64(cost) {
		return false
	}
	l.tokens, l.updated = left-float64(cost), now
	return true
}

// charge takes a cost that is known only afterwards. It leaves a quarter of the bucket,
// so that the next few messages pass.
func (l *messageLimiter) charge(now time.Duration, perSecond, cost float64) {
	full := burst(perSecond)
	left := min(l.tokens+perSecond*(now-l.updated).Seconds(), full)
	l.tokens, l.updated = max(left-cost, min(left, full/4)), now
}

// recordViolation notes a refusal. It returns true for the third within
// violationWindow.
func (l *messageLimiter) recordViolation(now time.Duration) (third bool) {
	third = now-l.violations[0] < violationWindow
	l.violations[0], l.violations[1] = l.violations[1], now
	return third
}
