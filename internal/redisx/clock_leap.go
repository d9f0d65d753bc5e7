package redisx

import (
	"context"
	"time"
)

// maxLeap is the largest step of the reference that cluster time follows at once.
// A larger one needs a second clock that agrees.
const maxLeap = 5 * time.Second

// Witness is a second clock, in epoch ms: that of the database. It is asked only
// while the reference is more than maxLeap from cluster time.
type Witness func(ctx context.Context) (int64, error)

// SetWitness sets the second clock. It is called before Run. Without one, no leap
// is followed.
func (c *Clock) SetWitness(w Witness) { c.witness = w }

// steady takes the leap off a reading that no second clock confirms: cluster time
// then goes on as before, still by the pace of the reference, so that all nodes
// stay together. Once the reference is back, or confirmed, it is followed again.
func (c *Clock) steady(ctx context.Context, r reading) reading {
	former := c.at.Load()
	if former == nil {
		return r
	}
	held, leap := time.Duration(c.held.Load()), time.Duration(r.offset()-former.offset)
	switch {
	case leap.Abs() <= maxLeap:
		c.hold(held, 0)
	case c.confirmed(ctx, r):
		c.log.Warn("redis clock stepped; the database clock confirms the step and cluster time follows", "step", leap)
		c.hold(held, 0)
	case (leap - held).Abs() > maxLeap:
		c.hold(held, leap)
		r.told -= int64(leap)
	default:
		r.told -= int64(held)
	}
	return r
}

// hold notes the leap that cluster time does not follow; 0 for none.
func (c *Clock) hold(former, leap time.Duration) {
	c.held.Store(int64(leap))
	switch {
	case leap != 0:
		c.log.Error("redis clock stepped; no second clock confirms the step and cluster time does not follow", "step", leap)
	case former != 0:
		c.log.Info("cluster time follows the redis clock again")
	}
}

// confirmed asks the second clock whether it agrees with a reading.
func (c *Clock) confirmed(ctx context.Context, r reading) bool {
	if c.witness == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	now, err := c.witness(ctx)
	if err != nil {
		return false
	}
	apart := time.Duration(now)*time.Millisecond - time.Duration(c.local()+r.offset())
	return apart.Abs() <= maxLeap
}
