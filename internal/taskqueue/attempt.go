package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"laststand/internal/timer"
)

// attempt is one run of a handler for a claimed task.
type attempt struct {
	task       Task
	ctx        context.Context //nolint:containedctx // context of this run of the handler only
	cancel     context.CancelFunc
	failed     FailedAttempt // how the handler failed; without Err it succeeded
	isReported bool          // the store knows how the attempt ended
}

// runAttempt runs the handler, and reports to the store how the attempt ended. If the
// store fails, it retries until attemptsCtx ends, and then once more. If that fails too,
// the lease ends instead.
func (p *pool) runAttempt(attemptsCtx context.Context, a *attempt) {
	startedAt := time.Now()
	a.failed = p.failedAttempt(attemptsCtx, &a.task, p.runHandler(a))
	a.cancel()
	p.workers.metrics.attemptSeconds.WithLabelValues(p.Kind).Observe(time.Since(startedAt).Seconds())
	for {
		isLastTry := attemptsCtx.Err() != nil
		_ = p.reports.Do(context.WithoutCancel(attemptsCtx), a) // report logs the error
		switch {
		case a.isReported:
			return
		case isLastTry:
			p.endAttempts([]*attempt{a}, []Lease{a.task.Lease()})
			return
		}
		timer.Sleep(attemptsCtx, storeRetryDelay)
	}
}

// runHandler runs the handler. It turns a panic into an error.
func (p *pool) runHandler(a *attempt) (err error) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			err = handlerError{fmt.Errorf("the handler panicked: %v", panicValue), FailedAttempt{reason: reasonPanic}}
		}
	}()
	return p.Handle(a.ctx, a.task)
}

// failedAttempt makes a FailedAttempt of the error of a handler. The task of a handler that was
// cancelled because the process ends returns to its queue.
func (p *pool) failedAttempt(attemptsCtx context.Context, task *Task, err error) (failed FailedAttempt) {
	special, isSpecial := errors.AsType[handlerError](err)
	switch {
	case attemptsCtx.Err() != nil && errors.Is(err, context.Canceled):
		failed = FailedAttempt{Postponed: true, reason: reasonReturned}
	case isSpecial:
		failed = special.attempt
	}
	if failed.Lease, failed.Err = task.Lease(), err; !failed.Postponed {
		failed.Backoff = p.Backoff
	}
	return failed
}

// report reports to the store how attempts ended: one call for all that ended in the same
// way. It ends those that the store knows now. The store decides whose lease is lost.
func (p *pool) report(ctx context.Context, attempts []*attempt) error {
	var succeeded, failed []*attempt
	var failures []FailedAttempt
	for _, a := range attempts {
		if a.failed.Err == nil {
			succeeded = append(succeeded, a)
		} else {
			failed, failures = append(failed, a), append(failures, a.failed)
		}
	}
	store := p.workers.Store
	p.reportGroup(ctx, "complete", succeeded, store.Complete)
	p.reportGroup(ctx, "fail", failed, func(ctx context.Context, _ []Lease) (lost []Lease, err error) {
		lost, err = store.Fail(ctx, failures)
		for i, a := range failed {
			a.failed.isDead = failures[i].isDead
		}
		return lost, err
	})
	return nil
}

// reportGroup makes one call of the store about these attempts. It ends them, unless the
// call fails.
func (p *pool) reportGroup(
	ctx context.Context, operation string, attempts []*attempt, call func(ctx context.Context, leases []Lease) (lost []Lease, err error),
) {
	if len(attempts) == 0 {
		return
	}
	leases := make([]Lease, len(attempts))
	for i, a := range attempts {
		leases[i] = a.task.Lease()
	}
	lost, err := call(ctx, leases)
	if err != nil {
		p.recordStoreFailure(operation, err)
		return
	}
	p.endAttempts(attempts, lost)
}

// endAttempts removes attempts from running, so that others can start, and counts how they
// ended. lost has the lost leases.
func (p *pool) endAttempts(attempts []*attempt, lost []Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range attempts {
		a.isReported = true
		delete(p.running, a.task.Lease())
		p.count(a, slices.Contains(lost, a.task.Lease()))
	}
	timer.Wake(p.freed)
}

// count counts an ended attempt, and logs a dead task. The caller holds mu.
func (p *pool) count(a *attempt, isLost bool) {
	metrics, reason := p.workers.metrics, a.failed.metricReason()
	switch {
	case isLost:
		reason = reasonLost
	case a.failed.Err == nil:
		metrics.completed.WithLabelValues(p.Kind).Inc()
		return
	case a.failed.isDead:
		metrics.dead.WithLabelValues(p.Kind).Inc()
		p.deadLog.Do(func() { // one cause often makes all tasks of a kind dead
			p.workers.Logger.Error("task is dead; further dead tasks of its kind are not logged for a minute; see `server tasks list`",
				"id", a.task.ID, "topic", a.task.Topic, "key", a.task.Key, "error", a.failed.Err)
		})
	}
	metrics.failures.WithLabelValues(p.Kind, reason).Inc()
}
