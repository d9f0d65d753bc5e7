package taskqueue

import (
	"math/rand/v2"
	"time"
)

// Backoff bounds the waits between the tries of a task.
type Backoff struct {
	First time.Duration // the bound of the wait after the first try
	Max   time.Duration // the bound of all, doubled from try to try
}

// wait draws from all of the bound ("full jitter": AWS Architecture Blog,
// Exponential Backoff and Jitter, 2015), so that what failed together does not
// come back together.
func (b Backoff) wait(tries int64) time.Duration {
	bound := b.First
	for i := int64(1); i < tries && bound < b.Max; i++ {
		bound *= 2
	}
	return rand.N(min(bound, b.Max) + 1) //nolint:gosec // a wait is no secret
}
