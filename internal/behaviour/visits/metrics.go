package visits

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	here     prometheus.Gauge
	unlisted prometheus.Counter
	failed   prometheus.Counter
	orphans  prometheus.Counter
}

func newMetrics(r prometheus.Registerer) metrics {
	on := promauto.With(r)
	count := func(name, help string) prometheus.Counter {
		return on.NewCounter(prometheus.CounterOpts{Name: "laststand_visits_" + name, Help: help})
	}
	return metrics{
		here:     on.NewGauge(prometheus.GaugeOpts{Name: "laststand_visits_here", Help: "Visits of players at this node."}),
		unlisted: count("unlisted_total", "Visits whose end would be lost with this node, since too many waited to be noted."),
		failed:   count("failed_total", "Calls that failed to note visits or to look for lost ones."),
		orphans:  count("orphans_total", "Visits at lost nodes whose end this node has reported."),
	}
}
