package redisx

import "time"

// SetMaxAge makes a clock stale sooner, before it runs.
func (c *Clock) SetMaxAge(d time.Duration) { c.maxAge = d }

// Slack is how far Now may be off, by its own account, in ms rounded up.
func (c *Clock) Slack() int64 {
	now, known := c.local(), c.at.Load()
	return (known.best.uncertainty(now)+known.aheadAt(now))/int64(time.Millisecond) + 1
}
