package eventq

// contact knows since when this node has reached a store without a gap. After a gap
// all nodes may seem to be dead, because none could reach the store.
type contact struct {
	gapMS int64 // a longer pause is a gap, and so is a clock that goes back so far
	since int64 // cluster time, epoch ms; 0: the store was never reached
	last  int64 // when the store was reached
}

// observe records that the store was reached.
func (c *contact) observe(now int64) {
	if c.hasGap(now) {
		c.since = now
	}
	c.last = now
}

func (c *contact) hasGap(now int64) bool { return max(now-c.last, c.last-now) > c.gapMS }

// lasts reports whether the store was reached for at least so many ms until now.
func (c *contact) lasts(now, ms int64) bool { return !c.hasGap(now) && now-c.since >= ms }
