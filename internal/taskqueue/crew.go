package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// crew works the tasks of one kind. Its loop owns all fields.
type crew struct {
	Service

	of       *Workers
	rung     <-chan struct{}
	claimed  chan claim
	ended    chan *try
	flying   map[Lease]*try // claimed, until the store knows how they ended
	over     []*try         // ended, and the store does not know it yet
	deaths   deaths
	hungry   bool // there may be something to claim
	claiming bool // a claim is under way
	ending   bool
	given    bool // up waiting for tries: they are given back

	work  context.Context // of the tries
	stop  context.CancelFunc
	poll  *time.Timer
	again *time.Timer // to tell the store what it would not hear
}

// claim is what came of one.
type claim struct {
	tasks []Task
	err   error
}

// try is a claimed task on its way.
type try struct {
	task   Task
	cancel context.CancelFunc
	since  time.Time
	lost   bool
	err    error
}

// errPanicked is a handler's panic.
type errPanicked struct{ fault any }

func (e errPanicked) Error() string { return fmt.Sprintf("the handler panicked: %v", e.fault) }

// storeAway is how long a store that failed is left alone.
const storeAway = time.Second

func newCrew(w *Workers, s Service) *crew {
	return &crew{
		Service: s, of: w, rung: w.Bell.Listen(s.Kind), claimed: make(chan claim, 1), ended: make(chan *try, s.AtOnce),
		flying: map[Lease]*try{}, deaths: deaths{w.Logger, map[string]time.Time{}}, hungry: true,
	}
}

// run is the loop. At the end it waits for the tries, and gives back those that
// take too long.
func (c *crew) run(ctx context.Context) {
	c.work, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	defer c.stop()
	c.poll, c.again = time.NewTimer(jittered(c.of.Poll)), time.NewTimer(storeAway)
	defer c.poll.Stop()
	defer c.again.Stop()
	renew := time.NewTicker(c.Lease / 3)
	defer renew.Stop()
	done, grace := ctx.Done(), (<-chan time.Time)(nil)
	for !c.ending || c.claiming || len(c.flying) > 0 {
		c.claim()
		select {
		case <-done:
			c.ending, done, grace = true, nil, time.After(c.of.Grace)
		case <-grace:
			c.given = true
			c.stop()
		case got := <-c.claimed:
			c.take(got)
		case t := <-c.ended:
			c.gather(t)
			c.settle()
		case <-c.again.C:
			c.settle()
		case <-c.rung:
			c.hungry = true
		case <-c.poll.C:
			c.hungry = true
			c.poll.Reset(jittered(c.of.Poll))
		case <-renew.C:
			c.renew()
		}
	}
}

// claim has the free hands filled. The loop goes on meanwhile, and tells how
// tries ended, which costs the store as much as claims.
func (c *crew) claim() {
	free := c.AtOnce - len(c.flying)
	if !c.hungry || c.claiming || c.ending || free <= 0 {
		return
	}
	c.hungry, c.claiming = false, true
	go func() { // the loop waits for what it gives
		ctx, cancel := c.call()
		defer cancel()
		tasks, err := c.of.Claims.Claim(ctx, c.Kind, min(free, MaxBatch), c.Lease)
		c.claimed <- claim{tasks, err}
	}()
}

// take begins what was claimed.
func (c *crew) take(got claim) {
	c.claiming = false
	if got.err != nil {
		c.failed("claim", got.err)
		c.poll.Reset(storeAway)
	}
	if len(got.tasks) > 0 { // fewer may be a part: another held the rest
		c.hungry = true
	}
	for i := range got.tasks {
		c.begin(&try{task: got.tasks[i], since: time.Now()})
	}
	c.of.metrics.claimed.WithLabelValues(c.Kind).Add(float64(len(got.tasks)))
}

// call bounds a call of the store; it outlives the context that ends the loop.
func (c *crew) call() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.work), callTimeout)
}

func (c *crew) failed(what string, err error) {
	c.of.metrics.failures.WithLabelValues(c.Kind, reasonStore).Inc()
	c.of.Logger.Warn("the durable queue's store failed; it is tried again", "kind", c.Kind, "call", what, "error", err)
}

// begin has the handler make the try; the loop hears of its end before it ends
// itself.
func (c *crew) begin(t *try) {
	var ctx context.Context
	ctx, t.cancel = context.WithCancel(c.work)
	c.flying[t.task.Lease()] = t
	go func() {
		t.err = c.handle(ctx, t.task)
		t.cancel()
		c.ended <- t
	}()
}

func (c *crew) handle(ctx context.Context, t Task) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = errPanicked{fault}
		}
	}()
	return c.Handle(ctx, t)
}

// gather takes a try that has ended, and the others that have meanwhile.
func (c *crew) gather(t *try) {
	for {
		c.of.metrics.seconds.WithLabelValues(c.Kind).Observe(time.Since(t.since).Seconds())
		c.over = append(c.over, t)
		select {
		case t = <-c.ended:
		default:
			return
		}
	}
}

// settle tells the store how tries ended. What it would not hear is told again
// later, unless the process ends: then the leases run out.
func (c *crew) settle() {
	var good, back []Lease
	var bad []Failed
	for _, t := range c.over {
		switch {
		case t.lost:
			c.forget(t.task.Lease())
		case t.err == nil:
			good = append(good, t.task.Lease())
		case c.given && errors.Is(t.err, context.Canceled):
			back = append(back, t.task.Lease())
		default:
			bad = append(bad, c.Backoff.failed(&t.task, t.err))
		}
	}
	c.tell("complete", good, func(ctx context.Context) ([]Lease, error) { return c.of.Claims.Complete(ctx, good) })
	c.tell("fail", leasesOf(bad), func(ctx context.Context) ([]Lease, error) { return c.of.Claims.Fail(ctx, bad) })
	c.tell("return", back, func(ctx context.Context) ([]Lease, error) { return c.of.Claims.Return(ctx, back) })
	c.keepUntold()
}

func leasesOf(failed []Failed) (leases []Lease) {
	for _, f := range failed {
		leases = append(leases, f.Lease)
	}
	return leases
}

// tell makes one call of the store and forgets the tries that it was about.
func (c *crew) tell(what string, leases []Lease, call func(context.Context) ([]Lease, error)) {
	if len(leases) == 0 {
		return
	}
	ctx, cancel := c.call()
	defer cancel()
	lost, err := call(ctx)
	if err != nil {
		c.failed(what, err)
		if !c.given {
			return
		}
		lost = leases
	}
	for _, lease := range lost {
		c.flying[lease].lost = true
	}
	for _, lease := range leases {
		c.forget(lease)
	}
}

// keepUntold leaves of the ended tries those that the store does not know of.
func (c *crew) keepUntold() {
	var untold []*try
	for _, t := range c.over {
		if c.flying[t.task.Lease()] != nil {
			untold = append(untold, t)
		}
	}
	if c.over = untold; len(untold) > 0 {
		c.again.Reset(storeAway)
	}
}

// forget counts how a try ended and frees its hand.
func (c *crew) forget(lease Lease) {
	t, m := c.flying[lease], c.of.metrics
	delete(c.flying, lease)
	reason := c.reason(t)
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
		c.deaths.log(&t.task, t.err)
	}
}

func (c *crew) reason(t *try) string {
	switch {
	case t.lost:
		return reasonLost
	case t.err == nil:
		return ""
	case c.given && errors.Is(t.err, context.Canceled):
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
func (c *crew) renew() {
	if len(c.flying) == 0 {
		return
	}
	var leases []Lease
	for lease := range c.flying {
		leases = append(leases, lease)
	}
	ctx, cancel := c.call()
	defer cancel()
	lost, err := c.of.Claims.Renew(ctx, leases, c.Lease)
	if err != nil {
		c.failed("renew", err)
		return
	}
	for _, lease := range lost {
		c.flying[lease].lost = true
		c.flying[lease].cancel()
	}
}
