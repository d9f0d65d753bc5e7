package ws

import (
	"time"

	"golang.org/x/time/rate"
)

// refusalWindow is the time within which the third refused message closes the session.
const refusalWindow = 10 * time.Second

// messageLimiter limits how many messages a session may send. It is a token bucket that
// starts full. Its size is a whole number of tokens, at least one. It is not safe for
// concurrent use.
type messageLimiter struct {
	tokens    *rate.Limiter
	refusedAt [2]time.Time // times of the last two refusals, older one first
}

func newMessageLimiter(perSecond float64) messageLimiter {
	return messageLimiter{tokens: rate.NewLimiter(rate.Limit(perSecond), max(int(perSecond), 1))}
}

// charge takes a cost that is known only after the message was allowed. It leaves at
// least a quarter of the bucket, or what was available if that is less, so that the next
// few messages are allowed.
func (l *messageLimiter) charge(now time.Time, cost int64) {
	spare := l.tokens.TokensAt(now) - float64(l.tokens.Burst())/4
	if cost = min(cost, int64(spare)); cost > 0 {
		l.tokens.ReserveN(now, int(cost))
	}
}

// recordRefusal notes a refused message. It returns true for the third refusal within
// refusalWindow.
func (l *messageLimiter) recordRefusal(now time.Time) (third bool) {
	third = now.Sub(l.refusedAt[0]) < refusalWindow
	l.refusedAt[0], l.refusedAt[1] = l.refusedAt[1], now
	return third
}
