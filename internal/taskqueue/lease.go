package taskqueue

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// FailedAttempt is the report of a failed attempt.
type FailedAttempt struct {
	Lease

	Err       error
	Wait      time.Duration // before the next attempt
	Final     bool          // the task becomes dead now
	Postponed bool          // the worker made no attempt, so that it does not count
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
	// Fail delays tasks until their next attempt. It makes them dead after
	// their last attempt.
	Fail(ctx context.Context, failed []FailedAttempt) (lost []Lease, err error)
	// Return returns tasks to their queues. The attempts do not count.
	Return(ctx context.Context, leases []Lease) (lost []Lease, err error)
}

// handlerError is the error of a handler that ends its attempt in another way than with a retry.
type handlerError struct {
	error
	reason string        // reasonPermanent, reasonPostponed or reasonPanic
	wait   time.Duration // of reasonPostponed
}

func (e handlerError) Unwrap() error { return e.error }

// Permanent wraps the error of a handler. It makes the task dead without
// further attempts.
func Permanent(cause error) error { return handlerError{error: cause, reason: reasonPermanent} }

// Postpone wraps the error of a handler that made no attempt, for example
// because it knows that the receiver refuses calls now. The attempt does not
// count, and the task returns to its queue after the wait.
func Postpone(cause error, wait time.Duration) error {
	return handlerError{cause, reasonPostponed, wait}
}

// failureReason returns the reason of the error of a handler, as metrics name it.
func failureReason(cause error) string {
	special, _ := errors.AsType[handlerError](cause)
	return cmp.Or(special.reason, reasonError)
}

// failedAttempt makes a FailedAttempt of the error of a handler.
func (b Backoff) failedAttempt(task *Task, cause error) FailedAttempt {
	attempt := FailedAttempt{Lease: task.Lease(), Err: cause, Wait: b.randomWait(task.Tries + 1)}
	switch special, _ := errors.AsType[handlerError](cause); special.reason {
	case reasonPostponed:
		attempt.Wait, attempt.Postponed = special.wait, true
	case reasonPermanent:
		attempt.Final = true
	}
	return attempt
}

// makesDead returns true if the attempt makes a task dead. The parameter task is the task before
// the attempt.
func (f *FailedAttempt) makesDead(task *Task) bool {
	return !f.Postponed && (f.Final || task.Tries+1 >= task.MaxTries)
}

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
