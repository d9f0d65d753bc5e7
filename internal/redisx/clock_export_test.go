package redisx

import "time"

// Slack returns the uncertainty of Now in ms, rounded up.
func (c *Clock) Slack() int64 {
	now, known := c.localTime(), c.estimate.Load()
	return (known.best.uncertainty(now)+known.aheadAt(now))/int64(time.Millisecond) + 1
}
