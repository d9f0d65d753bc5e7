package overload

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Cap counts the refusals of a limit that another type computes, such as a maximum of
// connections, and decides whether the limit is enforced. It is safe for concurrent use.
type Cap struct {
	dryRun               bool
	refused, wouldRefuse prometheus.Counter
}

// NewCap returns a Cap. Its name must differ from the names of all rules.
func (l *Limiter) NewCap(name string) *Cap {
	return &Cap{
		dryRun:      l.config.IsDryRun(name),
		refused:     l.newCounter(name, "refusals_total", "Requests that a limit refused."),
		wouldRefuse: l.newCounter(name, "dry_run_refusals_total", "Requests that a limit in dry run (limits.dry_run) would have refused."),
	}
}

// newCounter returns a counter of one rule.
func (l *Limiter) newCounter(rule, name, help string) prometheus.Counter {
	return promauto.With(l.config.Registry).NewCounter(prometheus.CounterOpts{
		Namespace: "laststand", Subsystem: "limit", Name: name, Help: help, ConstLabels: prometheus.Labels{"rule": rule},
	})
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
