package ws

import (
	"math"
	"time"
)

// processStart is the time 0 of this package's monotonic times. The package stores them
// as durations since processStart, since a time.Time has 24 bytes instead of 8.
var processStart = time.Now()

// sinceStart returns the time since processStart.
func sinceStart() time.Duration { return time.Since(processStart) }

// messageLimiter limits how many messages a session may send. It is a token bucket that
// starts full. Its size is a whole number of tokens, at least one. It is not safe for
// concurrent use. Times are durations since processStart.
type messageLimiter struct {
	tokens    float64
	updatedAt time.Duration    // when tokens was computed
	refusedAt [2]time.Duration // times of the last two refusals, older one first
}

func newMessageLimiter(now time.Duration, perSecond float64) messageLimiter {
	longAgo := now - refusalWindow
	return messageLimiter{tokens: bucketSize(perSecond), updatedAt: now, refusedAt: [2]time.Duration{longAgo, longAgo}}
}

// bucketSize returns how many tokens a full bucket has.
func bucketSize(perSecond float64) float64 { return max(math.Trunc(perSecond), 1) }

// tryTake takes cost tokens, or returns false if the bucket has fewer.
func (l *messageLimiter) tryTake(now time.Duration, perSecond float64, cost int) bool {
	available := min(l.tokens+perSecond*(now-l.updatedAt).Seconds(), bucketSize(perSecond))
	if available < float64(cost) {
		return false
	}
	l.tokens, l.updatedAt = available-float64(cost), now
	return true
}

// charge takes a cost that is known only after the message was allowed. It leaves at
// least a quarter of the bucket, or what was available if that is less, so that the next
// few messages are allowed.
func (l *messageLimiter) charge(now time.Duration, perSecond, cost float64) {
	capacity := bucketSize(perSecond)
	available := min(l.tokens+perSecond*(now-l.updatedAt).Seconds(), capacity)
	l.tokens, l.updatedAt = max(available-cost, min(available, capacity/4)), now
}

// recordRefusal notes a refused message. It returns true for the third refusal within
// refusalWindow.
func (l *messageLimiter) recordRefusal(now time.Duration) (third bool) {
	third = now-l.refusedAt[0] < refusalWindow
	l.refusedAt[0], l.refusedAt[1] = l.refusedAt[1], now
	return third
}
