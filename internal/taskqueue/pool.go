package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// crew works the tasks of one kind. Its loop owns all fields.
type pool struct {
	Service

	workers      *Workers
	notified     <-chan struct{}
	claimed      chan claimResult
	ended        chan *attempt
	running      map[Lease]*attempt // claimed, until the store knows how they ended
	finished     []*attempt         // ended, and the store does not know it yet
	deadLog      deadLog
	mayHaveTasks bool // there may be something to claim
	claiming     bool // a claim is under way
	stopping     bool
	isGraceOver  bool // up waiting for tries: they are given back

	attemptsCtx    context.Context // of the tries
	cancelAttempts context.CancelFunc
	pollTimer      *time.Timer
	retryTimer     *time.Timer // to tell the store what it would not hear
}

// claim is what came of one.
type claimResult struct {
	tasks []Task
	err   error
}

// try is a claimed task on its way.
type attempt struct {
	task      Task
	cancel    context.CancelFunc
	startedAt time.Time
	lost      bool
	err       error
}

// errPanicked is a handler's panic.
type errPanicked struct{ fault any }

func (e errPanicked) Error() string { return fmt.Sprintf("the handler panicked: %v", e.fault) }

// storeAway is how long a store that failed is left alone.
const storeRetryDelay = time.Second

func newPool(w *Workers, s Service) *pool {
	return &pool{
		Service: s, workers: w, notified: w.Notifier.Subscribe(s.Kind), claimed: make(chan claimResult, 1), ended: make(chan *attempt, s.Concurrency),
		running: map[Lease]*attempt{}, deadLog: deadLog{w.Logger, map[string]time.Time{}}, mayHaveTasks: true,
	}
}

// run is the loop. At the end it waits for the tries, and gives back those that
// take too long.
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

// claim has the free hands filled. The loop goes on meanwhile, and tells how
// tries ended, which costs the store as much as claims.
func (c *pool) startClaim() {
	free := c.Concurrency - len(c.running)
	if !c.mayHaveTasks || c.claiming || c.stopping || free <= 0 {
		return
	}
	c.mayHaveTasks, c.claiming = false, true
	go func() { // the loop waits for what it gives
		ctx, cancel := c.callContext()
		defer cancel()
		tasks, err := c.workers.Claims.Claim(ctx, c.Kind, min(free, MaxBatch), c.Lease)
		c.claimed <- claimResult{tasks, err}
	}()
}

// take begins what was claimed.
func (c *pool) startClaimed(result claimResult) {
	c.claiming = false
	if result.err != nil {
		c.recordStoreFailure("claim", result.err)
		c.pollTimer.Reset(storeRetryDelay)
	}
	if len(result.tasks) > 0 { // fewer may be a part: another held the rest
		c.mayHaveTasks = true
	}
	for i := range result.tasks {
		c.start(&attempt{task: result.tasks[i], startedAt: time.Now()})
	}
	c.workers.metrics.claimed.WithLabelValues(c.Kind).Add(float64(len(result.tasks)))
}

// call bounds a call of the store; it outlives the context that ends the loop.
func (c *pool) callContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.attemptsCtx), callTimeout)
}

func (c *pool) recordStoreFailure(operation string, err error) {
	c.workers.metrics.failures.WithLabelValues(c.Kind, reasonStore).Inc()
	c.workers.Logger.Warn("the durable queue's store failed; it is tried again", "kind", c.Kind, "call", operation, "error", err)
}

// begin has the handler make the try; the loop hears of its end before it ends
// itself.
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

func (c *pool) runHandler(ctx context.Context, t Task) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errPanicked{fault}
		}
	}()
	return c.Handle(ctx, t)
}

// gather takes a try that has ended, and the others that have meanwhile.
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

// settle tells the store how tries ended. What it would not hear is told again
// later, unless the process ends: then the leases run out.
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

// tell makes one call of the store and forgets the tries that it was about.
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

// keepUntold leaves of the ended tries those that the store does not know of.
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

// forget counts how a try ended and frees its hand.
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

// renew has the leases of all tries begin anew, and ends those that are lost.
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
