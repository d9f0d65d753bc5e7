package redisx

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	askTimeout = time.Second            // of a reading; a slower one would say too little
	askEvery   = time.Second            // give or take a quarter
	askSoon    = 50 * time.Millisecond  // while there are few readings to choose from
	askAgain   = 200 * time.Millisecond // while there is none yet
)

// Run asks the reference about every second, and more often at first and after
// it has jumped, until ctx ends, and returns nil then. It logs what fails and
// tries again. It is called once; without it, or while the reference is silent,
// Now goes on by the process's own clock.
func (c *Clock) Run(ctx context.Context) error {
	if c.ask == nil {
		<-ctx.Done()
		return nil
	}
	next := time.NewTimer(askSoon)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		err := c.sample(ctx)
		c.report(ctx, err)
		next.Reset(c.pause(err))
	}
}

// first tries until a reading succeeds, and returns why none did.
func (c *Clock) first(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	var cause error
	var since time.Time // of the first reading
	for {
		r, err := c.read(ctx)
		if err == nil && since.IsZero() {
			since = time.Now()
		}
		last := record{}
		if err == nil {
			last = c.tell(ctx, r)
		}
		gone := last.at == 0 || last.fresh(r.told) || time.Since(since) >= recordWait
		switch {
		case err == nil && gone:
			c.begin(r, last)
			c.take(c.steady(ctx, r))
			return nil
		case err != nil && (cause == nil || ctx.Err() == nil):
			cause = err
		}
		select {
		case <-ctx.Done():
			return cause
		case <-time.After(askAgain):
		}
	}
}

func (c *Clock) sample(ctx context.Context) error {
	r, err := c.read(ctx)
	if err == nil {
		c.take(c.steady(ctx, r))
		c.tell(ctx, r)
	}
	return err
}

func (c *Clock) read(ctx context.Context) (r reading, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r.sent = c.local()
	r.told, err = c.ask(ctx)
	r.received = c.local()
	return r, err
}

// take publishes what a reading changes.
func (c *Clock) take(r reading) {
	now := &estimate{best: c.readings.take(r), heard: r.received}
	now.line = line{offset: now.best.offset(), from: r.received}
	if former := c.at.Load(); former != nil {
		now.line = former.towards(now.offset, r.received)
		c.notice(former.best, r)
	}
	c.at.Store(now)
}

// notice tells of a reference that is not where it was.
func (c *Clock) notice(former, r reading) {
	if !former.contradicts(r) {
		return
	}
	jump := time.Duration(r.offset() - former.offset())
	c.metrics.stepped(jump)
	if jump.Abs() > maxUncertainty {
		c.log.Warn("reference clock stepped; check for a redis failover or a changed clock", "step", jump)
	}
}

// report logs where silence begins and ends.
func (c *Clock) report(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		c.metrics.failed.Inc()
	}
	switch was := c.silent; {
	case err != nil && !was:
		c.log.WarnContext(ctx, "redis clock read failed", "error", err)
	case err == nil && was:
		c.log.InfoContext(ctx, "redis clock reads recovered")
	}
	c.silent = err != nil
}

// pause is the wait for the next reading. Nodes that started together drift
// apart by it.
func (c *Clock) pause(err error) time.Duration {
	if err == nil && !c.readings.full() {
		return askSoon
	}
	return askEvery*3/4 + rand.N(askEvery/2) //nolint:gosec // a wait is no secret
}
