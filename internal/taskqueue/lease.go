package taskqueue

import (
	"context"
	"errors"
	"time"
)

// Lease is the right to end one try of a task. Its fence is greater than that
// of every lease of the task before it, and only the newest counts.
type Lease struct {
	ID    string `json:"id"`
	Fence int64  `json:"fence"`
}

// Failed is a try that failed.
type FailedAttempt struct {
	Lease

	Err       error
	Wait      time.Duration // before the next try
	Final     bool          // there is none
	Postponed bool          // the try was not made: it does not count
}

// Claims hands tasks out and hears how they ended. What a lease no longer holds
// for, as its try has ended, its task was given to another or changed by an
// operator, is in lost and has changed nothing; completing it once more is no loss.
type Claims interface {
	// Claim gives up to n tasks of a kind, to be ended within the lease: fair among
	// topics, by weight among priorities.
	Claim(ctx context.Context, kind string, n int, lease time.Duration) ([]Task, error)
	// Renew has leases begin anew.
	Renew(ctx context.Context, leases []Lease, lease time.Duration) (lost []Lease, err error)
	Complete(ctx context.Context, leases []Lease) (lost []Lease, err error)
	// Fail has tasks wait, or die after their last try.
	Fail(ctx context.Context, failed []FailedAttempt) (lost []Lease, err error)
	// Return gives tasks back whose try was not made.
	Return(ctx context.Context, leases []Lease) (lost []Lease, err error)
}

// permanent is a failure that no further try mends.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent has a handler's error be the task's death.
func Permanent(cause error) error { return permanent{cause} }

// postponed is a try that was not made.
type postponed struct {
	error
	wait time.Duration
}

func (p postponed) Unwrap() error { return p.error }

// Postpone has a task be tried after a wait, and the try not count, as it was not
// made: the other side is known to want none now.
func Postpone(cause error, wait time.Duration) error { return postponed{cause, wait} }

// failed judges a handler's error.
func (b Backoff) classify(t *Task, cause error) FailedAttempt {
	f := FailedAttempt{Lease: t.Lease(), Err: cause, Wait: b.wait(t.Tries + 1)}
	if p, ok := errors.AsType[postponed](cause); ok {
		f.Wait, f.Postponed = p.wait, true
	}
	_, f.Final = errors.AsType[permanent](cause)
	return f
}
