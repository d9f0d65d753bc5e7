package taskqueue

import (
	"math/rand/v2"
	"time"
)

// Backoff bounds the waits between the attempts of a task.
type Backoff struct {
	First time.Duration // the bound of the wait after the first attempt
	Max   time.Duration // the bound of every wait; the bound doubles up to it
}

// wait returns a random time up to the bound ("full jitter": AWS Architecture
// Blog, Exponential Backoff and Jitter, 2015). Tasks that failed together
// therefore do not come back together. Example: with First 1 s and Max 10 s,
// the bounds are 1, 2, 4, 8 and 10 s.
func (b Backoff) wait(tries int64) time.Duration {
	bound := b.First
	for i := int64(1); i < tries && bound < b.Max; i++ {
		bound *= 2
	}
	return rand.N(min(bound, b.Max) + 1) //nolint:gosec // a wait is no secret
}
