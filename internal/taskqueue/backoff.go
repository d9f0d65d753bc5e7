package taskqueue

import (
	"math/rand/v2"
	"time"
)

// Backoff limits the waits between the attempts of a task. The limit doubles
// after each attempt.
type Backoff struct {
	First time.Duration // the longest wait after the first attempt
	Max   time.Duration // the longest wait after any attempt
}

// randomWait returns a random wait from 0 up to the limit after so many attempts
// ("full jitter": AWS Architecture Blog, Exponential Backoff and Jitter, 2015).
// So tasks that failed at the same time do not retry at the same time. Example:
// with First 1 s and Max 10 s, the limits are 1, 2, 4, 8 and 10 s.
func (b Backoff) randomWait(attempts int64) time.Duration {
	limit := b.First
	for i := int64(1); i < attempts && limit < b.Max; i++ {
		limit *= 2
	}
	return rand.N(min(limit, b.Max) + 1) //nolint:gosec // a wait is no secret
}
