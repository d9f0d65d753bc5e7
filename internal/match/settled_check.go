package match

import "sync"

// firstSettledCheckDelayMS is how long a node waits for the notification that a
// result is settled before it checks the store itself. The delay doubles with
// every check while the match is kept.
const firstSettledCheckDelayMS = 3000

// settledCheck remembers whether the players of a match at this node were notified
// that its result is settled, and when to check for that. The zero value is ready.
type settledCheck struct {
	mu       sync.Mutex
	notified bool
	checkAt  int64 // cluster time; 0 before the first call of isDue
	delayMS  int64 // delay between two checks
}

// isDue reports whether it is time to check whether the result is settled.
func (c *settledCheck) isDue(now int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := c.checkAt > 0 && now >= c.checkAt
	if due || c.checkAt == 0 {
		c.delayMS = max(2*c.delayMS, firstSettledCheckDelayMS)
		c.checkAt = now + c.delayMS
	}
	return due && !c.notified
}

// claim reports whether the players still need the notification; the caller must
// then send it. release undoes the claim and restarts the checks.
func (c *settledCheck) claim() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	notified := c.notified
	c.notified = true
	return !notified
}

func (c *settledCheck) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notified, c.checkAt, c.delayMS = false, 0, 0
}
