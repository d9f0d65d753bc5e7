package limit

// Cap is a limit on how many there are at once, whoever counts them: it counts
// what is refused, as rules do. It is safe for concurrent use.
type Cap struct {
	trial bool
	told  told
}

// Cap makes one, by a name that no rule has.
func (l *Limiter) Cap(name string) *Cap {
	return &Cap{trial: l.config.Trial(name), told: l.metrics.of(name)}
}

// Stands counts a refusal, and says whether it is one: on trial it is not. With a
// nil Cap all are, uncounted.
func (c *Cap) Stands() bool {
	if c == nil {
		return true
	}
	if c.trial {
		c.told.wouldRefuse.Inc()
		return false
	}
	c.told.refused.Inc()
	return true
}
