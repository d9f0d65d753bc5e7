package match

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
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
	factory := metric.For(registerer, "laststand_match_")
	return &metrics{
		starts:                 factory.Counters("starts_total", "Matches that this node created, by mode.", "mode"),
		ends:                   factory.Counters("ends_total", "Matches that this node ended, by mode and reason.", "mode", "reason"),
		steps:                  factory.Counters("steps_total", "Steps of matches that this node tried, by phase and outcome.", "phase", "outcome"),
		answers:                factory.Counters("answers_total", "Answers by verdict.", "verdict"),
		failedRounds:           factory.Counters("recovery_failures_total", "Recovery rounds that failed, by round.", "round"),
		filledGaps:             factory.Counter("push_gaps_total", "Gaps in a match's pushes that this node filled from the log."),
		droppedRaces:           factory.Counter("late_buzzer_answers_total", "Right answers of buzzer matches that arrived after the question was won."),
		skippedPersonalResults: factory.Counter("personal_results_skipped_total", "Questions whose personal results were too late for the next question and were not sent."),
		unreadable: factory.Counters("decode_failures_total",
			"Reads of matches that this node cannot decode, by reason; their players count as not playing.", "reason"),
		removedOrphans: factory.Counter("orphans_removed_total", "Matches that this node removed because no live node can read them."),
		sweptMatches:   factory.Counter("overdue_recoveries_total", "Overdue matches that a sweep of this node continued."),
		localMatches:   factory.Gauge("local_matches", "Matches that this node holds in memory."),
		unsettled:      factory.Gauge("unsettled_results", "Results that wait for the ledger, on all nodes together."),
	}
}
