package identity

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// lookupResult is what a view returned for a name, and whether that was right.
type lookupResult int

const (
	unready       lookupResult = iota // the view is not loaded yet
	notIn                             // not in the view, and free
	late                              // not in the view, but taken: claimed at another node a moment ago
	taken                             // in the view, and taken
	mistaken                          // in the view, but free
	mayBe                             // in the view; the ledger has not confirmed it yet; never counted
	lookupResults = mayBe             // how many results are counted: those before lookupMaybe
)

func (a lookupResult) String() string {
	return [...]string{"unready", "absent", "late", "taken", "false_positive", "maybe"}[a]
}

// rebuildCause is why the server rebuilds a view; "": no rebuild is requested.
type reason string

const (
	reasonStart reason = "start" // the node has started and has no usable snapshot
	reasonFull  reason = "full"  // the filter has about as many names as it was sized for
	reasonStale reason = "stale" // too many names in the filter belong to no player any more
	reasonClock reason = "clock" // the ledger's clock was set back
)

// The outcomes of loading and saving snapshots.
const (
	saved   = "saved"
	unsaved = "failed"
	loaded  = "loaded"
	missing = "none"
	broken  = "broken"
	newer   = "version" // in another format, of a newer program
	foreign = "foreign" // of another ledger, game or rules
	ahead   = "ahead"   // its watermark is later than the ledger's clock
)

// nameMetrics exports metrics about the views of all games.
type nameMetrics struct {
	views     map[string]*nameView
	rebuilds  *prometheus.CounterVec
	snapshots *prometheus.CounterVec
	failures  prometheus.Counter
}

func newNameMetrics(r prometheus.Registerer, known map[string]*nameView, age func() time.Duration) *nameMetrics {
	on := promauto.With(r)
	m := &nameMetrics{
		views: known,
		rebuilds: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_name_filter_builds_total", Help: "Name filters built from the ledger, by reason.",
		}, []string{"game", "reason"}),
		snapshots: on.NewCounterVec(prometheus.CounterOpts{
			Name: "laststand_name_filter_snapshots_total", Help: "Snapshots of name filters that this node read or wrote, by outcome.",
		}, []string{"outcome"}),
		failures: on.NewCounter(prometheus.CounterOpts{
			Name: "laststand_name_filter_read_failures_total", Help: "Reads of the ledger for the name filters that failed.",
		}),
	}
	on.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_name_filter_lag_seconds", Help: "Time since this node last read the ledger for the name filters.",
	}, func() float64 { return age().Seconds() })
	if r != nil { // nil: no metrics
		r.MustRegister(m)
	}
	return m
}

var (
	filterLookups = newDesc("lookups_total", "Look-ups of names by result: absent (free, no query), taken, false_positive (free, after a query), late (just claimed elsewhere), unready (no filter yet).", "answer")
	filterNames   = newDesc("names", "Names in the filter, including stale ones.")
	filterCap     = newDesc("capacity", "Names that the filter is sized for.")
	filterBytes   = newDesc("size_bytes", "Memory of the filter.")
	filterStale   = newDesc("stale_names", "Names in the filter that no player has any more, at the last count.")
	filterRates   = newDesc("false_positive_ratio", "Share of free names for which the filter needs a query: measured since the start, and estimated from its fill.", "by")
)

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("laststand_name_filter_"+name, help, append([]string{"game"}, labels...), nil)
}

// Describe implements prometheus.Collector.
func (m *nameMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{filterLookups, filterNames, filterCap, filterBytes, filterStale, filterRates} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *nameMetrics) Collect(to chan<- prometheus.Metric) {
	for _, game := range slices.Sorted(maps.Keys(m.views)) {
		k := m.views[game]
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{game}, labels...)...)
		}
		for a := range lookupResults {
			to <- prometheus.MustNewConstMetric(filterLookups, prometheus.CounterValue, float64(k.lookups[a].Load()), game, a.String())
		}
		gauge(filterRates, k.falsePositiveRatio(), "measured")
		gauge(filterStale, float64(k.stale.Load()))
		f := k.active.Load()
		if f == nil {
			continue
		}
		gauge(filterNames, float64(f.Len()))
		gauge(filterCap, float64(f.Cap()))
		gauge(filterBytes, float64(f.Bytes()))
		gauge(filterRates, f.EstimatedRate(), "estimated")
	}
}

// falsePositiveRatio returns the share of free names for which the view wrongly returned
// that they may be taken. It is 0 before the first such name.
func (k *nameView) falsePositiveRatio() float64 {
	wrong := float64(k.lookups[mistaken].Load())
	if wrong == 0 {
		return 0
	}
	return wrong / (wrong + float64(k.lookups[notIn].Load()))
}
