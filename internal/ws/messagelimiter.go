package ws

import "time"

// refusalWindow is the time within which the third refused message closes the session.
const refusalWindow = 10 * time.Second

// processStart is the time 0 of message limiters.
var processStart = time.Now()

func sinceStart() time.Duration { return time.Since(processStart) }

// messageRate is how many messages a session may send per second.
type messageRate float64

// burst returns the size of a full bucket: a whole number of tokens, at least one.
func (r messageRate) burst() int { return max(int(r), 1) }

// refillTime returns the time in which a bucket gets so many tokens.
func (r messageRate) refillTime(tokens int) time.Duration {
	return time.Duration(float64(tokens) / float64(r) * float64(time.Second))
}

// messageLimiter limits how many messages a session may send. It is a token bucket that
// starts full. It holds only the time when the bucket will be full (generic cell rate
// algorithm), because each idle session has one. It is not safe for concurrent use.
type messageLimiter struct {
	fullAt    time.Duration    // since processStart
	refusedAt [2]time.Duration // times of the last two refusals, older one first
}

func newMessageLimiter(now time.Duration) messageLimiter {
	return messageLimiter{now, [2]time.Duration{now - refusalWindow, now - refusalWindow}}
}

// tokens returns how many tokens the bucket has.
func (l *messageLimiter) tokens(now time.Duration, rate messageRate) float64 {
	return float64(rate.burst()) - max(l.fullAt-now, 0).Seconds()*float64(rate)
}

// take takes tokens, and returns false if the bucket has too few.
func (l *messageLimiter) take(now time.Duration, rate messageRate, cost int) bool {
	if max(l.fullAt-now, 0)+rate.refillTime(cost) > rate.refillTime(rate.burst()) {
		return false
	}
	l.fullAt = max(l.fullAt, now) + rate.refillTime(cost)
	return true
}

// charge takes a cost that is known only after the message was allowed. It leaves at
// least a quarter of the bucket, or what was available if that is less, so that the next
// few messages are allowed.
func (l *messageLimiter) charge(now time.Duration, rate messageRate, cost int64) {
	spare := int64(l.tokens(now, rate) - float64(rate.burst())/4)
	if cost = min(cost, spare); cost > 0 {
		l.take(now, rate, int(cost))
	}
}

// recordRefusal notes a refused message. It returns true for the third refusal within
// refusalWindow.
func (l *messageLimiter) recordRefusal(now time.Duration) (third bool) {
	third = now-l.refusedAt[0] < refusalWindow
	l.refusedAt[0], l.refusedAt[1] = l.refusedAt[1], now
	return third
}
