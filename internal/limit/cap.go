package limit

// Cap counts the refusals of a limit that its caller enforces, such as a number of
// connections. It is safe for concurrent use.
type Cap struct {
	dryRun   bool
	counters ruleCounters
}

// Cap makes a Cap. The name must differ from those of all rules.
func (l *Limiter) Cap(name string) *Cap {
	return &Cap{dryRun: l.config.DryRun(name), counters: l.metrics.countersOf(name)}
}

// Refuse counts a refusal and returns true if the caller must refuse. In dry run it
// returns false. A nil Cap returns true and counts nothing.
func (c *Cap) Refuse() bool {
	if c == nil {
		return true
	}
	if c.dryRun {
		c.counters.wouldRefuse.Inc()
		return false
	}
	c.counters.refused.Inc()
	return true
}
