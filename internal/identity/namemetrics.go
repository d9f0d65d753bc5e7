package identity

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// answer is what a view says of a name, and whether it was right.
type answer int

const (
	unready  answer = iota // there is no view yet
	notIn                  // it is not in the view, and free
	late                   // it is not in the view, but taken: claimed elsewhere a moment ago
	taken                  // it is in the view, and taken
	mistaken               // it is in the view, but free
	mayBe                  // it is in the view; the ledger has still to be asked
	answers  = mayBe
)

func (a answer) String() string {
	return [...]string{"unready", "absent", "late", "taken", "false_positive", "maybe"}[a]
}

// reason is why a view is built anew.
type reason string

const (
	byStart reason = "start"
	bySize  reason = "full"
	byStale reason = "stale"
	byClock reason = "clock" // the ledger's clock was set back
)

// What becomes of snapshots.
const (
	saved   = "saved"
	unsaved = "failed"
	loaded  = "loaded"
	missing = "none"
	broken  = "broken"
	newer   = "version"
	foreign = "foreign" // of another ledger, game or rules
	ahead   = "ahead"   // it has followed the ledger further than the ledger's clock has come
)

// nameMetrics shows the views of all games.
type nameMetrics struct {
	known     map[string]*knownNames
	rebuilds  *prometheus.CounterVec
	snapshots *prometheus.CounterVec
	failures  prometheus.Counter
}

func newNameMetrics(r prometheus.Registerer, known map[string]*knownNames, age func() time.Duration) *nameMetrics {
	on := promauto.With(r)
	m := &nameMetrics{
		known: known,
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
	if r != nil {
		r.MustRegister(m)
	}
	return m
}

var (
	filterLookups = described("lookups_total", "Look-ups of names by result: absent (free, no query), taken, false_positive (free, after a query), late (just claimed elsewhere), unready (no filter yet).", "answer")
	filterNames   = described("names", "Names in the filter, including stale ones.")
	filterCap     = described("capacity", "Names that the filter is sized for.")
	filterBytes   = described("size_bytes", "Memory of the filter.")
	filterStale   = described("stale_names", "Names in the filter that no player has any more, at the last count.")
	filterRates   = described("false_positive_ratio", "Share of free names for which the filter needs a query: measured since the start, and estimated from its fill.", "by")
)

func described(name, help string, labels ...string) *prometheus.Desc {
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
	for _, game := range slices.Sorted(maps.Keys(m.known)) {
		k := m.known[game]
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{game}, labels...)...)
		}
		for a := range answers {
			to <- prometheus.MustNewConstMetric(filterLookups, prometheus.CounterValue, float64(k.answers[a].Load()), game, a.String())
		}
		gauge(filterRates, k.measured(), "measured")
		gauge(filterStale, float64(k.stale.Load()))
		f := k.serving.Load()
		if f == nil {
			continue
		}
		gauge(filterNames, float64(f.Len()))
		gauge(filterCap, float64(f.Cap()))
		gauge(filterBytes, float64(f.Bytes()))
		gauge(filterRates, f.EstimatedRate(), "estimated")
	}
}

// measured is the share of free names looked up that the view said "perhaps" to;
// 0 before any.
func (k *knownNames) measured() float64 {
	wrong := float64(k.answers[mistaken].Load())
	if wrong == 0 {
		return 0
	}
	return wrong / (wrong + float64(k.answers[notIn].Load()))
}
