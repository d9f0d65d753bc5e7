package redisx

import "time"

// SetMaxAge sets the age of the last reading at which a clock is stale. It must be called before Run.
func (c *Clock) SetMaxAge(d time.Duration) { c.maxAge = d }

// Slack returns the uncertainty of Now in ms, rounded up.
func (c *Clock) Slack() int64 {
	now, known := c.localTime(), c.estimate.Load()
	return (known.best.uncertainty(now)+known.aheadAt(now))/int64(time.Millisecond) + 1
}
