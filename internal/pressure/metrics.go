package pressure

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// told is what a gauge tells of itself.
type told struct {
	level       prometheus.Gauge
	signals     *prometheus.GaugeVec
	shed, would map[What]prometheus.Counter
}

func newTold(r prometheus.Registerer) *told {
	on := promauto.With(r)
	shed := on.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_shed_total", Help: "What a hard-pressed node refused; idling: sessions that it closed.",
	}, []string{"what"})
	would := on.NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_would_shed_total", Help: "What it would have refused, were shedding not on trial (limits.dry_run); idling: looks at which it would have closed some.",
	}, []string{"what"})
	t := &told{
		level: on.NewGauge(prometheus.GaugeOpts{
			Name: "laststand_pressure_level", Help: "How hard-pressed the node is: 0 for calm, up to 5.",
		}),
		signals: on.NewGaugeVec(prometheus.GaugeOpts{
			Name: "laststand_pressure", Help: "By what that is known: shares of bounds, and seconds that goroutines wait for a processor.",
		}, []string{"signal"}),
		shed: make(map[What]prometheus.Counter), would: make(map[What]prometheus.Counter),
	}
	for what := range from {
		t.shed[what], t.would[what] = shed.WithLabelValues(string(what)), would.WithLabelValues(string(what))
	}
	return t
}
