package taskqueue

import (
	"context"
	"math/rand/v2"
	"time"
)

// FailedAttempt is the report of a failed attempt.
type FailedAttempt struct {
	Lease

	Err       error
	Wait      time.Duration // before the next attempt; 0: a random time, which Backoff limits
	Backoff   Backoff
	Final     bool // the task becomes dead now
	Postponed bool // the worker made no attempt, so that it does not count; without a wait the task returns to its queue now

	reason string // a reason that the other fields do not show; "": none
	isDead bool   // RecordFailure made the task dead
}

// metricReason returns the reason of the failure as metrics name it.
func (f *FailedAttempt) metricReason() string {
	switch {
	case f.reason != "":
		return f.reason
	case f.Postponed:
		return reasonPostponed
	case f.Final:
		return reasonPermanent
	}
	return reasonError
}

// ClaimStore hands out tasks to workers and records how attempts ended. Its
// methods return the lost leases. A lease is lost if its attempt has ended, if
// another worker has the task, or if an operator changed the task. A call with
// a lost lease does not change the task. Completing a task twice is not a loss.
type ClaimStore interface {
	// Claim returns up to n tasks of a kind. It is fair among topics and
	// weighted among priorities. The worker must end or renew each attempt
	// within the lease.
	Claim(ctx context.Context, kind string, n int, lease time.Duration) ([]Task, error)
	// Renew makes leases end this time from now.
	Renew(ctx context.Context, leases []Lease, lease time.Duration) (lost []Lease, err error)
	// Complete makes tasks done.
	Complete(ctx context.Context, leases []Lease) (lost []Lease, err error)
	// Fail calls RecordFailure for tasks. Of two reports of a lease the first counts.
	Fail(ctx context.Context, failed []FailedAttempt) (lost []Lease, err error)
}

// handlerError is the error of a handler that ends its attempt in another way than with a retry.
type handlerError struct {
	error
	attempt FailedAttempt
}

func (e handlerError) Unwrap() error { return e.error }

// Permanent wraps the error of a handler. It makes the task dead without
// further attempts.
func Permanent(cause error) error { return handlerError{cause, FailedAttempt{Final: true}} }

// Postpone wraps the error of a handler that made no attempt, for example
// because it knows that the receiver refuses calls now. The attempt does not
// count, and the task returns to its queue after the wait.
func Postpone(cause error, wait time.Duration) error {
	return handlerError{cause, FailedAttempt{Postponed: true, Wait: wait}}
}

// Backoff limits the waits between the attempts of a task. The limit doubles
// after each attempt.
type Backoff struct {
	First time.Duration // the longest wait after the first attempt
	Max   time.Duration // the longest wait after any attempt
}

// RandomWait returns a random wait from 0 up to the limit after so many attempts
// ("full jitter": AWS Architecture Blog, Exponential Backoff and Jitter, 2015).
// So tasks that failed at the same time do not retry at the same time. Example:
// with First 1 s and Max 10 s, the limits are 1, 2, 4, 8 and 10 s.
func (b Backoff) RandomWait(attempts int64) time.Duration {
	limit := b.First
	for i := int64(1); i < attempts && limit < b.Max; i++ {
		limit *= 2
	}
	return rand.N(min(limit, b.Max) + 1) //nolint:gosec // a wait is no secret
}
