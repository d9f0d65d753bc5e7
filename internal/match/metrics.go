package match

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	started *prometheus.CounterVec // by mode
	over    *prometheus.CounterVec // by mode, reason
	steps   *prometheus.CounterVec // by phase, outcome: taken, lost, failed
	answers *prometheus.CounterVec // by verdict: accepted, repeated, a code, failed
	rounds  *prometheus.CounterVec // by round

	unreadable *prometheus.CounterVec // by reason
	gaps       prometheus.Counter
	swept      prometheus.Counter
	unowned    prometheus.Counter
	orphans    prometheus.Counter
	dropped    prometheus.Counter
	lives      prometheus.Gauge
	unsettled  prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	on := promauto.With(r)
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return on.NewCounterVec(prometheus.CounterOpts{Name: "laststand_match_" + name, Help: help}, labels)
	}
	one := func(name, help string) prometheus.Counter {
		return on.NewCounter(prometheus.CounterOpts{Name: "laststand_match_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return on.NewGauge(prometheus.GaugeOpts{Name: "laststand_match_" + name, Help: help})
	}
	return &metrics{
		started: vec("started_total", "Matches created by this node.", "mode"),
		over:    vec("over_total", "Matches that this node has ended.", "mode", "reason"),
		steps:   vec("steps_total", "Steps of matches that this node tried.", "phase", "outcome"),
		answers: vec("answers_total", "Answers by what became of them.", "verdict"),
		rounds:  vec("recovery_failed_total", "Rounds of recovery that failed.", "round"),
		gaps:    one("gaps_total", "Gaps in a match's pushes filled from its log."),
		dropped: one("race_dropped_total", "Right answers of buzzer matches that came when their question was known to be won."),
		unowned: one("own_missed_total", "Questions whose own pushes came too late for the next question's opening."),
		unreadable: vec("unreadable_total",
			"Look-ups of matches that this node cannot read: of another form, or corrupt. Their players count as not playing.", "reason"),
		orphans:   one("orphans_removed_total", "Matches removed because no living node could read them."),
		swept:     one("swept_total", "Overdue matches that a sweep has taken up."),
		lives:     gauge("held", "Matches that this node holds in memory."),
		unsettled: gauge("unsettled", "Results that wait for the ledger, over all nodes."),
	}
}
