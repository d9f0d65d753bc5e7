package match

import "sync"

// settledCheck is when a node checks whether the result of a match is settled. It is safe
// for concurrent use.
type settledCheck struct {
	mu         sync.Mutex
	isNotified bool  // the sessions here were notified
	checkAt    int64 // cluster time of the next check; 0 before the end was seen
	delayMS    int64 // before that check
}

// setNotified notes whether the sessions here were notified, and returns what was noted
// before.
func (c *settledCheck) setNotified(notified bool) (before bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.isNotified = c.isNotified, notified
	return before
}

// isDue reports whether the sessions were not notified and it is time for a check. It
// then sets the time of the next one.
func (c *settledCheck) isDue(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isNotified || now < c.checkAt {
		return false
	}
	isDue := c.checkAt > 0
	c.delayMS = max(2*c.delayMS, firstSettledCheckDelayMS)
	c.checkAt = now + c.delayMS
	return isDue
}
