package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// pool runs the tasks of one kind. Only its loop, run, uses the fields.
type pool struct {
	Service

	workers      *Workers
	notified     <-chan struct{}    // has a value after a notification for the kind
	claimed      chan claimResult   // the result of the claim under way
	ended        chan *attempt      // attempts whose handler has returned
	running      map[Lease]*attempt // claimed tasks, until the store knows how their attempts ended
	finished     []*attempt         // ended attempts that the store does not know yet
	deadLog      deadLog
	mayHaveTasks bool // whether a claim may find tasks
	claiming     bool // whether a claim is under way
	stopping     bool // whether the context of run has ended; no new claim starts
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
	task      Task
	cancel    context.CancelFunc
	startedAt time.Time
	lost      bool  // the store no longer accepts a result with this lease
	err       error // of the handler; set before the attempt is in ended
}

// errPanicked is the error of a handler that panicked.
type errPanicked struct{ fault any }

func (e errPanicked) Error() string { return fmt.Sprintf("the handler panicked: %v", e.fault) }

// storeRetryDelay is the pause before the next call after the store failed.
const storeRetryDelay = time.Second

func newPool(w *Workers, s Service) *pool {
	return &pool{
		Service: s, workers: w, notified: w.Notifier.Subscribe(s.Kind), claimed: make(chan claimResult, 1), ended: make(chan *attempt, s.Concurrency),
		running: map[Lease]*attempt{}, deadLog: deadLog{w.Logger, map[string]time.Time{}}, mayHaveTasks: true,
	}
}

// run claims tasks and runs them until the context ends. It then waits for the
// attempts under way. It cancels those that take longer than GracePeriod, and
// returns their tasks to the queue.
func (c *pool) run(ctx context.Context) {
	c.attemptsCtx, c.cancelAttempts = context.WithCancel(context.WithoutCancel(ctx))
	defer c.cancelAttempts()
	c.pollTimer, c.retryTimer = time.NewTimer(jittered(c.workers.Poll)), time.NewTimer(storeRetryDelay)
	defer c.pollTimer.Stop()
	defer c.retryTimer.Stop()
	renew := time.NewTicker(c.Lease / 3)
	defer renew.Stop()
	done, grace := ctx.Done(), (<-chan time.Time)(nil)
	for !c.stopping || c.claiming || len(c.running) > 0 {
		c.startClaim()
		select {
		case <-done:
			c.stopping, done, grace = true, nil, time.After(c.workers.Grace)
		case <-grace:
			c.isGraceOver = true
			c.cancelAttempts()
		case result := <-c.claimed:
			c.startClaimed(result)
		case t := <-c.ended:
			c.collectFinished(t)
			c.reportFinished()
		case <-c.retryTimer.C:
			c.reportFinished()
		case <-c.notified:
			c.mayHaveTasks = true
		case <-c.pollTimer.C:
			c.mayHaveTasks = true
			c.pollTimer.Reset(jittered(c.workers.Poll))
		case <-renew.C:
			c.renewLeases()
		}
	}
}

// startClaim starts a claim of as many tasks as can run now, if a claim may find
// tasks and none is under way. The loop continues during the claim and gets the
// result from the channel claimed.
func (c *pool) startClaim() {
	free := c.Concurrency - len(c.running)
	if !c.mayHaveTasks || c.claiming || c.stopping || free <= 0 {
		return
	}
	c.mayHaveTasks, c.claiming = false, true
	go func() { // the loop does not end before it has received from claimed
		ctx, cancel := c.callContext()
		defer cancel()
		tasks, err := c.workers.Claims.Claim(ctx, c.Kind, min(free, MaxBatch), c.Lease)
		c.claimed <- claimResult{tasks, err}
	}()
}

// startClaimed starts an attempt for each claimed task.
func (c *pool) startClaimed(result claimResult) {
	c.claiming = false
	if result.err != nil {
		c.recordStoreFailure("claim", result.err)
		c.pollTimer.Reset(storeRetryDelay)
	}
	if len(result.tasks) > 0 { // there may be more, for example some that another node had locked
		c.mayHaveTasks = true
	}
	for i := range result.tasks {
		c.start(&attempt{task: result.tasks[i], startedAt: time.Now()})
	}
	c.workers.metrics.claimed.WithLabelValues(c.Kind).Add(float64(len(result.tasks)))
}

// callContext returns a context for one call of the store, with the time limit
// callTimeout. The end of the loop's context does not end it.
func (c *pool) callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.attemptsCtx), callTimeout)
}

func (c *pool) recordStoreFailure(operation string, err error) {
	c.workers.metrics.failures.WithLabelValues(c.Kind, reasonStore).Inc()
	c.workers.Logger.Warn("task queue store call failed; the server retries it", "kind", c.Kind, "call", operation, "error", err)
}

// start starts the handler of an attempt in a goroutine. The goroutine sends the
// attempt to the channel ended when the handler returns.
func (c *pool) start(t *attempt) {
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(c.attemptsCtx)
	c.running[t.task.Lease()] = t
	go func() {
		t.err = c.runHandler(ctx, t.task)
		t.cancel()
		c.ended <- t
	}()
}

// runHandler runs the handler. It turns a panic into a panicError.
func (c *pool) runHandler(ctx context.Context, t Task) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errPanicked{fault}
		}
	}()
	return c.Handle(ctx, t)
}

// collectFinished adds an ended attempt to unreported, and all others that are in
// the channel ended.
func (c *pool) collectFinished(t *attempt) {
	for {
		c.workers.metrics.seconds.WithLabelValues(c.Kind).Observe(time.Since(t.startedAt).Seconds())
		c.finished = append(c.finished, t)
		select {
		case t = <-c.ended:
		default:
			return
		}
	}
}

// reportFinished reports to the store how attempts ended. If a call fails, it
// reports these attempts again later. After GracePeriod it does not: their
// leases end instead.
func (c *pool) reportFinished() {
	var succeeded, returned []Lease
	var failed []FailedAttempt
	for _, t := range c.finished {
		switch {
		case t.lost:
			c.remove(t.task.Lease())
		case t.err == nil:
			succeeded = append(succeeded, t.task.Lease())
		case c.isGraceOver && errors.Is(t.err, context.Canceled):
			returned = append(returned, t.task.Lease())
		default:
			failed = append(failed, c.Backoff.classify(&t.task, t.err))
		}
	}
	c.report("complete", succeeded, func(ctx context.Context) ([]Lease, error) { return c.workers.Claims.Complete(ctx, succeeded) })
	c.report("fail", leasesOf(failed), func(ctx context.Context) ([]Lease, error) { return c.workers.Claims.Fail(ctx, failed) })
	c.report("return", returned, func(ctx context.Context) ([]Lease, error) { return c.workers.Claims.Return(ctx, returned) })
	c.keepUnreported()
}

func leasesOf(failed []FailedAttempt) (leases []Lease) {
	for _, f := range failed {
		leases = append(leases, f.Lease)
	}
	return leases
}

// report makes one call of the store about these leases. It then removes their
// attempts, unless the call failed. After GracePeriod it removes them in any
// case.
func (c *pool) report(operation string, leases []Lease, call func(context.Context) ([]Lease, error)) {
	if len(leases) == 0 {
		return
	}
	ctx, cancel := c.callContext()
	defer cancel()
	lost, err := call(ctx)
	if err != nil {
		c.recordStoreFailure(operation, err)
		if !c.isGraceOver {
			return
		}
		lost = leases
	}
	for _, lease := range lost {
		c.running[lease].lost = true
	}
	for _, lease := range leases {
		c.remove(lease)
	}
}

// keepUnreported removes reported attempts from unreported. If some are left, it
// starts the timer of the next report.
func (c *pool) keepUnreported() {
	var unreported []*attempt
	for _, t := range c.finished {
		if c.running[t.task.Lease()] != nil {
			unreported = append(unreported, t)
		}
	}
	if c.finished = unreported; len(unreported) > 0 {
		c.retryTimer.Reset(storeRetryDelay)
	}
}

// remove removes an attempt from running, so that another can start, and counts
// how it ended.
func (c *pool) remove(lease Lease) {
	t, m := c.running[lease], c.workers.metrics
	delete(c.running, lease)
	reason := c.failureReason(t)
	if reason == "" {
		m.completed.WithLabelValues(c.Kind).Inc()
		return
	}
	m.failures.WithLabelValues(c.Kind, reason).Inc()
	if reason == reasonLost || reason == reasonReturned || reason == reasonPostponed {
		return
	}
	if reason == reasonPermanent || t.task.Tries+1 >= t.task.MaxTries {
		m.dead.WithLabelValues(c.Kind).Inc()
		c.deadLog.log(&t.task, t.err)
	}
}

// failureReason returns the label of a failed attempt in metrics, or "" for a
// successful one.
func (c *pool) failureReason(t *attempt) string {
	switch {
	case t.lost:
		return reasonLost
	case t.err == nil:
		return ""
	case c.isGraceOver && errors.Is(t.err, context.Canceled):
		return reasonReturned
	}
	if _, ok := errors.AsType[permanent](t.err); ok {
		return reasonPermanent
	}
	if _, ok := errors.AsType[errPanicked](t.err); ok {
		return reasonPanic
	}
	if _, ok := errors.AsType[postponed](t.err); ok {
		return reasonPostponed
	}
	return reasonError
}

// renewLeases renews the leases of all running attempts. It cancels the attempts
// whose lease is lost.
func (c *pool) renewLeases() {
	if len(c.running) == 0 {
		return
	}
	var leases []Lease
	for lease := range c.running {
		leases = append(leases, lease)
	}
	ctx, cancel := c.callContext()
	defer cancel()
	lost, err := c.workers.Claims.Renew(ctx, leases, c.Lease)
	if err != nil {
		c.recordStoreFailure("renew", err)
		return
	}
	for _, lease := range lost {
		c.running[lease].lost = true
		c.running[lease].cancel()
	}
}
