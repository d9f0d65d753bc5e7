package ws

import (
	"time"

	"laststand/internal/overload"
)

// refusalWindow is the time within which the third refused message closes the session.
const refusalWindow = 10 * time.Second

// messageLimiter limits how many messages a session may send. Each idle session has one, so it is
// small. It is not safe for concurrent use. In its methods, now is from timer.SinceStart.
type messageLimiter struct {
	bucket    overload.Bucket
	refusedAt [2]time.Duration // times of the last two refusals, older one first
}

func newMessageLimiter(now time.Duration) messageLimiter {
	return messageLimiter{overload.NewBucket(now), [2]time.Duration{now - refusalWindow, now - refusalWindow}}
}

// take takes tokens, and returns false if the bucket has too few.
func (l *messageLimiter) take(now time.Duration, config overload.BucketConfig, cost int) bool {
	if l.bucket.Wait(now, config, cost) > 0 {
		return false
	}
	l.bucket.Charge(now, config, cost)
	return true
}

// charge takes a cost that is known only after the message was allowed. It leaves at
// least a quarter of the bucket, or what was available if that is less, so that the next
// few messages are allowed.
func (l *messageLimiter) charge(now time.Duration, config overload.BucketConfig, cost int64) {
	spare := config.Burst - config.Burst/4 - l.bucket.Missing(now, config)
	l.bucket.Charge(now, config, int(min(cost, int64(max(spare, 0)))))
}

// recordRefusal notes a refused message. It returns true for the third refusal within
// refusalWindow.
func (l *messageLimiter) recordRefusal(now time.Duration) (third bool) {
	third = now-l.refusedAt[0] < refusalWindow
	l.refusedAt[0], l.refusedAt[1] = l.refusedAt[1], now
	return third
}
