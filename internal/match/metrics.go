package match

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	starts       *prometheus.CounterVec // by mode
	ends         *prometheus.CounterVec // by mode, reason
	steps        *prometheus.CounterVec // by phase, outcome: taken, lost, failed
	answers      *prometheus.CounterVec // by verdict: accepted, repeated, a code, failed
	failedRounds *prometheus.CounterVec // by round

	unreadable             *prometheus.CounterVec // by reason
	filledGaps             prometheus.Counter
	sweptMatches           prometheus.Counter
	skippedPersonalResults prometheus.Counter
	removedOrphans         prometheus.Counter
	droppedRaces           prometheus.Counter
	localMatches           prometheus.Gauge
	unsettled              prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	factory := promauto.With(registerer)
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: "laststand_match_" + name, Help: help}, labels)
	}
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "laststand_match_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return factory.NewGauge(prometheus.GaugeOpts{Name: "laststand_match_" + name, Help: help})
	}
	return &metrics{
		starts:                 vec("starts_total", "Matches that this node created, by mode.", "mode"),
		ends:                   vec("ends_total", "Matches that this node ended, by mode and reason.", "mode", "reason"),
		steps:                  vec("steps_total", "Steps of matches that this node tried, by phase and outcome.", "phase", "outcome"),
		answers:                vec("answers_total", "Answers by verdict.", "verdict"),
		failedRounds:           vec("recovery_failures_total", "Recovery rounds that failed, by round.", "round"),
		filledGaps:             counter("push_gaps_total", "Gaps in a match's pushes that this node filled from the log."),
		droppedRaces:           counter("late_buzzer_answers_total", "Right answers of buzzer matches that arrived after the question was won."),
		skippedPersonalResults: counter("personal_results_skipped_total", "Questions whose personal results were too late for the next question and were not sent."),
		unreadable: vec("decode_failures_total",
			"Reads of matches that this node cannot decode, by reason; their players count as not playing.", "reason"),
		removedOrphans: counter("orphans_removed_total", "Matches that this node removed because no live node can read them."),
		sweptMatches:   counter("overdue_recoveries_total", "Overdue matches that a sweep of this node continued."),
		localMatches:   gauge("local_matches", "Matches that this node holds in memory."),
		unsettled:      gauge("unsettled_results", "Results that wait for the ledger, on all nodes together."),
	}
}
