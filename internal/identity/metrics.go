package identity

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/nickname"
)

func newRefusalCounter(r prometheus.Registerer) *prometheus.CounterVec {
	var labels []string
	for _, declared := range declaredRefusals {
		labels = append(labels, declared.label)
	}
	return metric.For(r, "laststand_").CountersOf("token_refusals_total", "Tokens that this node refused, by reason.", "reason", labels...)
}

type revocationMetrics struct {
	revocations *prometheus.GaugeVec // revocations in force, by kind
	failures    prometheus.Counter   // failed reads
	readAt      atomic.Int64         // when this node last had all changes, epoch ms
}

func newRevocationMetrics(r prometheus.Registerer, now func() int64) *revocationMetrics {
	factory := metric.For(r, "laststand_")
	m := &revocationMetrics{
		revocations: factory.Gauges("bans", "Bans, revocations and erasures in force that this node knows, by kind.", "kind"),
		failures:    factory.Counter("bans_read_failures_total", "Reads of bans and revocations that failed; those that the node knows stay in force."),
	}
	factory.GaugeFunc("bans_lag_seconds", "Time since this node last knew all bans and revocations.", func() float64 { return float64(now()-m.readAt.Load()) / 1000 })
	m.setCounts(nil)
	return m
}

func (m *revocationMetrics) setCounts(counts map[RevocationKind]int) {
	for _, kind := range RevocationKinds() {
		m.revocations.WithLabelValues(string(kind)).Set(float64(counts[kind]))
	}
}

type nameMetrics struct {
	builds    *prometheus.CounterVec // by game and reason
	snapshots *prometheus.CounterVec // by outcome
	failures  prometheus.Counter
}

func newNameMetrics(r prometheus.Registerer, views map[string]*nameView, timeSinceRead func() time.Duration) *nameMetrics {
	factory := metric.For(r, "laststand_name_filter_")
	factory.GaugeFunc("lag_seconds", "Time since this node last read the ledger for the name filters.", func() float64 { return timeSinceRead().Seconds() })
	for _, view := range views {
		view.register(factory)
	}
	return &nameMetrics{
		builds:    factory.Counters("builds_total", "Name filters built from the ledger, by reason.", "game", "reason"),
		snapshots: factory.Counters("snapshots_total", "Snapshots of name filters that this node read or wrote, by outcome.", "outcome"),
		failures:  factory.Counter("read_failures_total", "Reads of the ledger for the name filters that failed."),
	}
}

// register registers the metrics of one view. Those of the filter are 0 until it is loaded.
func (v *nameView) register(factory metric.Factory) {
	gauge := func(name, help string, labels prometheus.Labels, read func(*nickname.Filter) float64) {
		labels["game"] = v.game
		factory.With(labels).GaugeFunc(name, help, func() float64 {
			if filter := v.active.Load(); filter != nil {
				return read(filter)
			}
			return 0
		})
	}
	for result, count := range v.lookups {
		factory.With(prometheus.Labels{"game": v.game, "answer": string(result)}).CounterFunc("lookups_total",
			"Look-ups of names by result: absent (free, no query), taken, false_positive (free, after a query), late (just claimed elsewhere), unready (no filter yet).",
			func() float64 { return float64(count.Load()) })
	}
	gauge("names", "Names in the filter, including those that no player has any more.", prometheus.Labels{}, func(f *nickname.Filter) float64 { return float64(f.Len()) })
	gauge("capacity", "Names that the filter is sized for.", prometheus.Labels{}, func(f *nickname.Filter) float64 { return float64(f.Cap()) })
	gauge("size_bytes", "Memory of the filter.", prometheus.Labels{}, func(f *nickname.Filter) float64 { return float64(f.Bytes()) })
	const falsePositives = "Share of free names for which the filter needs a query: measured since the start, and estimated from its fill."
	gauge("false_positive_ratio", falsePositives, prometheus.Labels{"by": "measured"}, func(*nickname.Filter) float64 { return v.falsePositiveRatio() })
	gauge("false_positive_ratio", falsePositives, prometheus.Labels{"by": "estimated"}, (*nickname.Filter).EstimatedFalsePositiveRate)
}

type nicknameMetrics struct {
	refusals          *prometheus.CounterVec // by game and reason
	failedSuggestions *prometheus.CounterVec // failures, by game and reason
}

// The reasons of failed suggestions.
const (
	suggestionNotFound  = "not_found"
	suggestionNotStored = "not_stored"
)

// The reasons of refused nicknames.
const (
	refusalInvalid  = "invalid"
	refusalWord     = "word"    // it contains a refused word
	refusalTaken    = "taken"   // another player has it
	refusalReserved = "offered" // it is reserved for another requester
)

func newNicknameMetrics(r prometheus.Registerer) nicknameMetrics {
	factory := metric.For(r, "laststand_nickname_")
	return nicknameMetrics{
		refusals: factory.Counters("refusals_total", "Nicknames that the server refused, by reason: invalid, word (a refused word), taken (another player has it), "+
			"offered (just suggested to another player).", "game", "reason"),
		failedSuggestions: factory.Counters("suggestion_failures_total", "Suggestions of nicknames that failed, by reason: not_found (no three free names), not_stored (Redis did not answer).", "game", "reason"),
	}
}
