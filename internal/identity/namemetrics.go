package identity

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The outcomes of loading and saving snapshots.
const (
	snapshotSaved       = "saved"
	snapshotSaveFailed  = "failed"
	snapshotLoaded      = "loaded"
	snapshotMissing     = "none"
	snapshotBroken      = "broken"
	snapshotNewerFormat = "version" // in another format, of a newer program
	snapshotForeign     = "foreign" // of another ledger, game or rules
	snapshotAhead       = "ahead"   // its watermark is later than the ledger's clock
)

// nameMetrics exports metrics about the views of all games.
type nameMetrics struct {
	views     map[string]*nameView
	rebuilds  *prometheus.CounterVec
	snapshots *prometheus.CounterVec
	failures  prometheus.Counter
}

func newNameMetrics(r prometheus.Registerer, views map[string]*nameView, timeSinceRead func() time.Duration) *nameMetrics {
	factory := promauto.With(r)
	m := &nameMetrics{
		views: views,
		rebuilds: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_name_filter_builds_total", Help: "Name filters built from the ledger, by reason.",
		}, []string{"game", "reason"}),
		snapshots: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_name_filter_snapshots_total", Help: "Snapshots of name filters that this node read or wrote, by outcome.",
		}, []string{"outcome"}),
		failures: factory.NewCounter(prometheus.CounterOpts{
			Name: "laststand_name_filter_read_failures_total", Help: "Reads of the ledger for the name filters that failed.",
		}),
	}
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_name_filter_lag_seconds", Help: "Time since this node last read the ledger for the name filters.",
	}, func() float64 { return timeSinceRead().Seconds() })
	if r != nil { // nil: no metrics
		r.MustRegister(m)
	}
	return m
}

var (
	lookupsDesc        = newFilterDesc("lookups_total", "Look-ups of names by result: absent (free, no query), taken, false_positive (free, after a query), late (just claimed elsewhere), unready (no filter yet).", "answer")
	namesDesc          = newFilterDesc("names", "Names in the filter, including stale ones.")
	capacityDesc       = newFilterDesc("capacity", "Names that the filter is sized for.")
	bytesDesc          = newFilterDesc("size_bytes", "Memory of the filter.")
	staleNamesDesc     = newFilterDesc("stale_names", "Names in the filter that no player has any more, at the last count.")
	falsePositivesDesc = newFilterDesc("false_positive_ratio", "Share of free names for which the filter needs a query: measured since the start, and estimated from its fill.", "by")
)

func newFilterDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("laststand_name_filter_"+name, help, append([]string{"game"}, labels...), nil)
}

// Describe implements prometheus.Collector.
func (m *nameMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{lookupsDesc, namesDesc, capacityDesc, bytesDesc, staleNamesDesc, falsePositivesDesc} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *nameMetrics) Collect(out chan<- prometheus.Metric) {
	for _, game := range slices.Sorted(maps.Keys(m.views)) {
		view := m.views[game]
		gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, append([]string{game}, labels...)...)
		}
		for result := range countedLookupResults {
			out <- prometheus.MustNewConstMetric(lookupsDesc, prometheus.CounterValue, float64(view.lookups[result].Load()), game, result.String())
		}
		gauge(falsePositivesDesc, view.falsePositiveRatio(), "measured")
		gauge(staleNamesDesc, float64(view.staleNames.Load()))
		filter := view.active.Load()
		if filter == nil {
			continue
		}
		gauge(namesDesc, float64(filter.Len()))
		gauge(capacityDesc, float64(filter.Cap()))
		gauge(bytesDesc, float64(filter.Bytes()))
		gauge(falsePositivesDesc, filter.EstimatedFalsePositiveRate(), "estimated")
	}
}
