package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"laststand/internal/loop"
)

// attempt is one run of a handler for a claimed task.
type attempt struct {
	task        Task
	ctx         context.Context //nolint:containedctx // context of this run of the handler only
	cancel      context.CancelFunc
	err         error // of the handler
	isReturned  bool  // the handler was cancelled because the process ends
	isReported  bool  // the store knows how the attempt ended, or need not know it
	isLeaseLost bool  // the store no longer accepts a result with this lease; the pool's mu guards it
}

// panicError is the error of a handler that panicked.
type panicError struct{ value any }

func (e panicError) Error() string { return fmt.Sprintf("the handler panicked: %v", e.value) }

func (p *pool) addAttempt(attemptsCtx context.Context, task Task) *attempt {
	a := &attempt{task: task}
	a.ctx, a.cancel = context.WithCancel(attemptsCtx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[task.Lease()] = a
	return a
}

// runAttempt runs the handler, and reports to the store how the attempt ended. If the
// store fails, it retries until attemptsCtx ends, and then once more. If that fails too,
// the lease ends instead.
func (p *pool) runAttempt(attemptsCtx context.Context, a *attempt) {
	startedAt := time.Now()
	a.err = p.runHandler(a)
	a.cancel()
	a.isReturned = attemptsCtx.Err() != nil && errors.Is(a.err, context.Canceled)
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
		loop.Sleep(attemptsCtx, storeRetryDelay)
	}
}

// runHandler runs the handler. It turns a panic into a panicError.
func (p *pool) runHandler(a *attempt) (err error) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			err = panicError{panicValue}
		}
	}()
	return p.Handle(a.ctx, a.task)
}

// report reports to the store how attempts ended. It sets isReported of those that the
// store knows now.
func (p *pool) report(ctx context.Context, attempts []*attempt) error {
	var lost, succeeded, returned, failed []*attempt
	var failures []FailedAttempt
	for _, a := range attempts {
		switch {
		case p.hasLostLease(a):
			lost = append(lost, a)
		case a.err == nil:
			succeeded = append(succeeded, a)
		case a.isReturned:
			returned = append(returned, a)
		default:
			failed, failures = append(failed, a), append(failures, p.Backoff.failedAttempt(&a.task, a.err))
		}
	}
	store := p.workers.Store
	p.reportGroup("", lost, func(leases []Lease) ([]Lease, error) { return leases, nil })
	p.reportGroup("complete", succeeded, func(leases []Lease) ([]Lease, error) { return store.Complete(ctx, leases) })
	p.reportGroup("return", returned, func(leases []Lease) ([]Lease, error) { return store.Return(ctx, leases) })
	p.reportGroup("fail", failed, func([]Lease) ([]Lease, error) { return store.Fail(ctx, failures) })
	return nil
}

func (p *pool) hasLostLease(a *attempt) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return a.isLeaseLost
}

// reportGroup makes one call of the store about these attempts. It ends them, unless the
// call fails.
func (p *pool) reportGroup(operation string, attempts []*attempt, call func(leases []Lease) (lost []Lease, err error)) {
	if len(attempts) == 0 {
		return
	}
	leases := make([]Lease, len(attempts))
	for i, a := range attempts {
		leases[i] = a.task.Lease()
	}
	lost, err := call(leases)
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
		a.isLeaseLost, a.isReported = slices.Contains(lost, a.task.Lease()), true
		delete(p.running, a.task.Lease())
		p.count(a)
	}
	loop.Wake(p.freed)
}

// count counts an ended attempt, and logs a dead task. The caller holds mu.
func (p *pool) count(a *attempt) {
	metrics, reason := p.workers.metrics, a.failureReason()
	if reason == "" {
		metrics.completed.WithLabelValues(p.Kind).Inc()
		return
	}
	metrics.failures.WithLabelValues(p.Kind, reason).Inc()
	if reason == reasonLost || reason == reasonReturned || reason == reasonPostponed {
		return
	}
	if reason == reasonPermanent || a.task.Tries+1 >= a.task.MaxTries {
		metrics.dead.WithLabelValues(p.Kind).Inc()
		p.deadLog.Do(func() { // one cause often makes all tasks of a kind dead
			p.workers.Logger.Error("task is dead; further dead tasks of its kind are not logged for a minute; see `server tasks list`",
				"id", a.task.ID, "topic", a.task.Topic, "key", a.task.Key, "error", a.err)
		})
	}
}

// failureReason returns the label of a failed attempt in metrics, or "" for a
// successful one.
func (a *attempt) failureReason() string {
	switch {
	case a.isLeaseLost:
		return reasonLost
	case a.err == nil:
		return ""
	case a.isReturned:
		return reasonReturned
	}
	if _, ok := errors.AsType[permanent](a.err); ok {
		return reasonPermanent
	}
	if _, ok := errors.AsType[panicError](a.err); ok {
		return reasonPanic
	}
	if _, ok := errors.AsType[postponed](a.err); ok {
		return reasonPostponed
	}
	return reasonError
}
