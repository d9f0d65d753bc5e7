package ws

import (
	"math"
	"time"
)

// processStart is the time 0 of this package's monotonic times. The package stores them
// as durations since processStart, since a time.Time has 24 bytes instead of 8.
var started = time.Now()

// sinceStart returns the time since processStart.
func sinceStart() time.Duration { return time.Since(started) }

// messageLimiter limits how many messages a session may send. It is a token bucket that
// starts full. Its size is a whole number of tokens, at least one. It is not safe for
// concurrent use. Times are durations since processStart.
type messageLimiter struct {
	tokens     float64
	updated    time.Duration    // when tokens was computed
	violations [2]time.Duration // times of the last two refusals, older one first
}

func newMessageLimiter(now time.Duration, perSecond float64) messageLimiter {
	longAgo := now - violationWindow
	return messageLimiter{tokens: burst(perSecond), updated: now, violations: [2]time.Duration{longAgo, longAgo}}
}

// bucketSize returns how many tokens a full bucket has.
func burst(perSecond float64) float64 { return max(math.Trunc(perSecond), 1) }

// tryTake takes cost tokens, or returns false if the bucket has fewer.
func (l *messageLimiter) allow(now time.Duration, perSecond float64, cost int) bool {
	left := min(l.tokens+perSecond*(now-l.updated).Seconds(), burst(perSecond))
	if left < float64(cost) {
		return false
	}
	l.tokens, l.updated = left-float64(cost), now
	return true
}

// charge takes a cost that is known only after the message was allowed. It leaves at
// least a quarter of the bucket, or what was available if that is less, so that the next
// few messages are allowed.
func (l *messageLimiter) charge(now time.Duration, perSecond, cost float64) {
	full := burst(perSecond)
	left := min(l.tokens+perSecond*(now-l.updated).Seconds(), full)
	l.tokens, l.updated = max(left-cost, min(left, full/4)), now
}

// recordRefusal notes a refused message. It returns true for the third refusal within
// refusalWindow.
func (l *messageLimiter) recordViolation(now time.Duration) (third bool) {
	third = now-l.violations[0] < violationWindow
	l.violations[0], l.violations[1] = l.violations[1], now
	return third
}
