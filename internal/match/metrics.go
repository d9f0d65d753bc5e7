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
		started: vec("starts_total", "Matches that this node created, by mode.", "mode"),
		over:    vec("ends_total", "Matches that this node ended, by mode and reason.", "mode", "reason"),
		steps:   vec("steps_total", "Steps of matches that this node tried, by phase and outcome.", "phase", "outcome"),
		answers: vec("answers_total", "Answers by verdict.", "verdict"),
		rounds:  vec("recovery_failures_total", "Recovery rounds that failed, by round.", "round"),
		gaps:    one("push_gaps_total", "Gaps in a match's pushes that this node filled from the log."),
		dropped: one("late_buzzer_answers_total", "Right answers of buzzer matches that arrived after the question was won."),
		unowned: one("personal_results_skipped_total", "Questions whose personal results were too late for the next question and were not sent."),
		unreadable: vec("decode_failures_total",
			"Reads of matches that this node cannot decode, by reason; their players count as not playing.", "reason"),
		orphans:   one("orphans_removed_total", "Matches that this node removed because no live node can read them."),
		swept:     one("overdue_recoveries_total", "Overdue matches that a sweep of this node continued."),
		lives:     gauge("local_matches", "Matches that this node holds in memory."),
		unsettled: gauge("unsettled_results", "Results that wait for the ledger, over all nodes."),
	}
}
