package overload

// Cap counts the refusals of a limit that another package computes, such as a maximum of
// connections, and decides whether the limit is enforced. It is safe for concurrent use.
type Cap struct {
	dryRun   bool
	counters ruleCounters
}

// NewCap returns a Cap. Its name must differ from the names of all rules.
func (l *Limiter) NewCap(name string) *Cap {
	return &Cap{dryRun: l.config.IsDryRun(name), counters: l.metrics.ruleCounters(name)}
}

// Refuse counts a refusal. It returns true if the caller must refuse, and false in dry
// run. A nil Cap returns true and counts nothing.
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
