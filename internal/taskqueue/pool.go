package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pool runs the tasks of one kind. Only its loop, run, uses the fields.
type pool struct {
	KindConfig

	workers      *Workers
	notified     <-chan struct{}    // has a value after a notification for the kind
	claimed      chan claimResult   // the result of the claim under way
	ended        chan *attempt      // attempts whose handler has returned
	running      map[Lease]*attempt // claimed tasks, until the store knows how their attempts ended
	unreported   []*attempt         // ended attempts that the store does not know yet
	deadLog      deadLog
	mayHaveTasks bool // whether a claim may find tasks
	isClaiming   bool // whether a claim is under way
	isStopping   bool // whether the context of run has ended; no new claim starts
	isGraceOver  bool // whether GracePeriod is over; attempts under way are cancelled and returned

	attemptsCtx    context.Context // context of all attempts
	cancelAttempts context.CancelFunc
	pollTimer      *time.Timer // when to claim without a notification
	retryTimer     *time.Timer // when to report ended attempts again after the store failed
}

// claimResult is the outcome of one claim.
type claimResult struct {
	tasks []Task
	err   error
}

// attempt is one run of a handler for a claimed task.
type attempt struct {
	task        Task
	cancel      context.CancelFunc
	startedAt   time.Time
	isLeaseLost bool  // the store no longer accepts a result with this lease
	err         error // of the handler; set before the attempt is in ended
}

// panicError is the error of a handler that panicked.
type panicError struct{ value any }

func (e panicError) Error() string { return fmt.Sprintf("the handler panicked: %v", e.value) }

// storeRetryDelay is the pause before the next call after the store failed.
const storeRetryDelay = time.Second

func newPool(w *Workers, kindConfig KindConfig) *pool {
	return &pool{
		KindConfig: kindConfig, workers: w, notified: w.Notifier.Subscribe(kindConfig.Kind), claimed: make(chan claimResult, 1), ended: make(chan *attempt, kindConfig.Concurrency),
		running: map[Lease]*attempt{}, deadLog: deadLog{w.Logger, map[string]time.Time{}}, mayHaveTasks: true,
	}
}

// run claims tasks and runs them until the context ends. It then waits for the
// attempts under way. It cancels those that take longer than GracePeriod, and
// returns their tasks to the queue.
func (p *pool) run(ctx context.Context) {
	p.attemptsCtx, p.cancelAttempts = context.WithCancel(context.WithoutCancel(ctx))
	defer p.cancelAttempts()
	p.pollTimer, p.retryTimer = time.NewTimer(withJitter(p.workers.PollInterval)), time.NewTimer(storeRetryDelay)
	defer p.pollTimer.Stop()
	defer p.retryTimer.Stop()
	renewTicker := time.NewTicker(p.Lease / 3)
	defer renewTicker.Stop()
	done, grace := ctx.Done(), (<-chan time.Time)(nil)
	for !p.isStopping || p.isClaiming || len(p.running) > 0 {
		p.startClaim()
		select {
		case <-done:
			p.isStopping, done, grace = true, nil, time.After(p.workers.GracePeriod)
		case <-grace:
			p.isGraceOver = true
			p.cancelAttempts()
		case result := <-p.claimed:
			p.startAttempts(result)
		case ended := <-p.ended:
			p.collectEnded(ended)
			p.reportEnded()
		case <-p.retryTimer.C:
			p.reportEnded()
		case <-p.notified:
			p.mayHaveTasks = true
		case <-p.pollTimer.C:
			p.mayHaveTasks = true
			p.pollTimer.Reset(withJitter(p.workers.PollInterval))
		case <-renewTicker.C:
			p.renewLeases()
		}
	}
}

// startClaim starts a claim of as many tasks as can run now, if a claim may find
// tasks and none is under way. The loop continues during the claim and gets the
// result from the channel claimed.
func (p *pool) startClaim() {
	free := p.Concurrency - len(p.running)
	if !p.mayHaveTasks || p.isClaiming || p.isStopping || free <= 0 {
		return
	}
	p.mayHaveTasks, p.isClaiming = false, true
	go func() { // the loop does not end before it has received from claimed
		ctx, cancel := p.callContext()
		defer cancel()
		tasks, err := p.workers.Store.Claim(ctx, p.Kind, min(free, MaxBatch), p.Lease)
		p.claimed <- claimResult{tasks, err}
	}()
}

// startAttempts starts an attempt for each claimed task.
func (p *pool) startAttempts(result claimResult) {
	p.isClaiming = false
	if result.err != nil {
		p.recordStoreFailure("claim", result.err)
		p.pollTimer.Reset(storeRetryDelay)
	}
	if len(result.tasks) > 0 { // there may be more, for example some that another node had locked
		p.mayHaveTasks = true
	}
	for i := range result.tasks {
		p.startAttempt(&attempt{task: result.tasks[i], startedAt: time.Now()})
	}
	p.workers.metrics.claimed.WithLabelValues(p.Kind).Add(float64(len(result.tasks)))
}

// callContext returns a context for one call of the store, with the time limit
// callTimeout. The end of the loop's context does not end it.
func (p *pool) callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(p.attemptsCtx), callTimeout)
}

func (p *pool) recordStoreFailure(operation string, err error) {
	p.workers.metrics.failures.WithLabelValues(p.Kind, reasonStore).Inc()
	p.workers.Logger.Warn("task queue store call failed; the server retries it", "kind", p.Kind, "call", operation, "error", err)
}

// startAttempt starts the handler of an attempt in a goroutine. The goroutine sends the
// attempt to the channel ended when the handler returns.
func (p *pool) startAttempt(a *attempt) {
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(p.attemptsCtx)
	p.running[a.task.Lease()] = a
	go func() {
		a.err = p.runHandler(ctx, a.task)
		a.cancel()
		p.ended <- a
	}()
}

// runHandler runs the handler. It turns a panic into a panicError.
func (p *pool) runHandler(ctx context.Context, t Task) (err error) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			err = panicError{panicValue}
		}
	}()
	return p.Handle(ctx, t)
}

// collectEnded adds an ended attempt to unreported, and all others that are in
// the channel ended.
func (p *pool) collectEnded(a *attempt) {
	for {
		p.workers.metrics.attemptSeconds.WithLabelValues(p.Kind).Observe(time.Since(a.startedAt).Seconds())
		p.unreported = append(p.unreported, a)
		select {
		case a = <-p.ended:
		default:
			return
		}
	}
}

// reportEnded reports to the store how attempts ended. If a call fails, it
// reports these attempts again later. After GracePeriod it does not: their
// leases end instead.
func (p *pool) reportEnded() {
	var succeeded, returned []Lease
	var failed []FailedAttempt
	for _, a := range p.unreported {
		switch {
		case a.isLeaseLost:
			p.removeAttempt(a.task.Lease())
		case a.err == nil:
			succeeded = append(succeeded, a.task.Lease())
		case p.isGraceOver && errors.Is(a.err, context.Canceled):
			returned = append(returned, a.task.Lease())
		default:
			failed = append(failed, p.Backoff.failedAttempt(&a.task, a.err))
		}
	}
	p.report("complete", succeeded, func(ctx context.Context) ([]Lease, error) { return p.workers.Store.Complete(ctx, succeeded) })
	p.report("fail", attemptLeases(failed), func(ctx context.Context) ([]Lease, error) { return p.workers.Store.Fail(ctx, failed) })
	p.report("return", returned, func(ctx context.Context) ([]Lease, error) { return p.workers.Store.Return(ctx, returned) })
	p.updateUnreported()
}

func attemptLeases(failed []FailedAttempt) (leases []Lease) {
	for _, attempt := range failed {
		leases = append(leases, attempt.Lease)
	}
	return leases
}

// report makes one call of the store about these leases. It then removes their
// attempts, unless the call failed. After GracePeriod it removes them in any
// case.
func (p *pool) report(operation string, leases []Lease, call func(context.Context) ([]Lease, error)) {
	if len(leases) == 0 {
		return
	}
	ctx, cancel := p.callContext()
	defer cancel()
	lost, err := call(ctx)
	if err != nil {
		p.recordStoreFailure(operation, err)
		if !p.isGraceOver {
			return
		}
		lost = leases
	}
	for _, lease := range lost {
		p.running[lease].isLeaseLost = true
	}
	for _, lease := range leases {
		p.removeAttempt(lease)
	}
}

// updateUnreported removes reported attempts from unreported. If some are left, it
// starts the timer of the next report.
func (p *pool) updateUnreported() {
	var remaining []*attempt
	for _, a := range p.unreported {
		if p.running[a.task.Lease()] != nil {
			remaining = append(remaining, a)
		}
	}
	if p.unreported = remaining; len(remaining) > 0 {
		p.retryTimer.Reset(storeRetryDelay)
	}
}

// removeAttempt removes an attempt from running, so that another can start, and counts
// how it ended.
func (p *pool) removeAttempt(lease Lease) {
	a, metrics := p.running[lease], p.workers.metrics
	delete(p.running, lease)
	reason := p.failureReason(a)
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
		p.deadLog.log(&a.task, a.err)
	}
}

// failureReason returns the label of a failed attempt in metrics, or "" for a
// successful one.
func (p *pool) failureReason(a *attempt) string {
	switch {
	case a.isLeaseLost:
		return reasonLost
	case a.err == nil:
		return ""
	case p.isGraceOver && errors.Is(a.err, context.Canceled):
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

// renewLeases renews the leases of all running attempts. It cancels the attempts
// whose lease is lost.
func (p *pool) renewLeases() {
	if len(p.running) == 0 {
		return
	}
	var leases []Lease
	for lease := range p.running {
		leases = append(leases, lease)
	}
	ctx, cancel := p.callContext()
	defer cancel()
	lost, err := p.workers.Store.Renew(ctx, leases, p.Lease)
	if err != nil {
		p.recordStoreFailure("renew", err)
		return
	}
	for _, lease := range lost {
		p.running[lease].isLeaseLost = true
		p.running[lease].cancel()
	}
}
