package overload

import "github.com/prometheus/client_golang/prometheus"

// Cap counts the refusals of a limit that another type computes, such as a maximum of
// connections, and decides whether the limit is enforced. It is safe for concurrent use.
type Cap struct {
	dryRun               bool
	refused, wouldRefuse prometheus.Counter
}

// Refuse counts a refusal. It returns true if the caller must refuse, and false in dry
// run. A nil Cap returns true and counts nothing.
func (c *Cap) Refuse() bool {
	switch {
	case c == nil:
		return true
	case c.dryRun:
		c.wouldRefuse.Inc()
		return false
	}
	c.refused.Inc()
	return true
}
