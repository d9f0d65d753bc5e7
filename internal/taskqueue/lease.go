package taskqueue

import (
	"context"
	"errors"
	"time"
)

// Lease is the right to end one attempt of a task. Each lease of a task has a
// higher fence than those before. Only the newest lease counts.
type Lease struct {
	ID    string `json:"id"`
	Fence int64  `json:"fence"`
}

// FailedAttempt reports a failed attempt.
type FailedAttempt struct {
	Lease

	Err       error
	Wait      time.Duration // before the next attempt
	Final     bool          // there is no next attempt
	Postponed bool          // the attempt was not made and does not count
}

// Claims hands out tasks and records how attempts ended. A lease is lost if its
// attempt has ended, another worker has the task, or an operator changed it. A
// lost lease changes nothing. Completing a task twice is not a loss.
type Claims interface {
	// Claim returns up to n tasks of a kind. It is fair among topics and
	// weighted among priorities. The worker must end each attempt within the
	// lease.
	Claim(ctx context.Context, kind string, n int, lease time.Duration) ([]Task, error)
	// Renew restarts leases.
	Renew(ctx context.Context, leases []Lease, lease time.Duration) (lost []Lease, err error)
	Complete(ctx context.Context, leases []Lease) (lost []Lease, err error)
	// Fail postpones tasks, or makes them dead after their last attempt.
	Fail(ctx context.Context, failed []FailedAttempt) (lost []Lease, err error)
	// Return returns tasks whose attempts were not made.
	Return(ctx context.Context, leases []Lease) (lost []Lease, err error)
}

// permanent is a failure that no further attempt can repair.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent wraps the error of a handler so that the task becomes dead.
func Permanent(cause error) error { return permanent{cause} }

// postponed is an attempt that was not made.
type postponed struct {
	error
	wait time.Duration
}

func (p postponed) Unwrap() error { return p.error }

// Postpone wraps the error of a handler that made no attempt, because the
// receiver is known to refuse now. The attempt does not count, and the task
// comes back after the wait.
func Postpone(cause error, wait time.Duration) error { return postponed{cause, wait} }

// classify turns the error of a handler into a FailedAttempt.
func (b Backoff) classify(t *Task, cause error) FailedAttempt {
	f := FailedAttempt{Lease: t.Lease(), Err: cause, Wait: b.wait(t.Tries + 1)}
	if p, ok := errors.AsType[postponed](cause); ok {
		f.Wait, f.Postponed = p.wait, true
	}
	_, f.Final = errors.AsType[permanent](cause)
	return f
}
