package eventq

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const prefix = "laststand_tasks_"

// The reasons of laststand_tasks_failures_total.
const (
	reasonError     = "error"     // the handler failed
	reasonPermanent = "permanent" // and no further try mends it
	reasonPanic     = "panic"     // the handler panicked
	reasonLost      = "lost"      // the lease had ended, or an operator changed the task
	reasonReturned  = "returned"  // given back at the end of the process
	reasonPostponed = "postponed" // the other side is known to want none now
	reasonStore     = "store"     // a call of the store
)

// workMetrics are of the workers of this node.
type workMetrics struct {
	claimed, completed, dead *prometheus.CounterVec
	failures                 *prometheus.CounterVec
	seconds                  *prometheus.HistogramVec
}

func newWorkMetrics(r prometheus.Registerer, kinds []string) *workMetrics {
	f := promauto.With(r)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, append([]string{"kind"}, labels...))
	}
	m := &workMetrics{
		claimed:   counter("claimed_total", "Tries of tasks that this node began."),
		completed: counter("completed_total", "Tasks that this node completed."),
		dead:      counter("dead_total", "Tasks that are dead after a try of this node; see `server tasks list`."),
		failures:  counter("failures_total", "Tries of this node that failed, by reason.", "reason"),
		seconds: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "try_seconds", Help: "Time of a try.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"kind"}),
	}
	for _, kind := range kinds {
		for _, reason := range []string{reasonError, reasonPermanent, reasonPanic, reasonLost, reasonReturned, reasonPostponed, reasonStore} {
			m.failures.WithLabelValues(kind, reason)
		}
	}
	return m
}

// keepMetrics are of the keeper of this node. What the queue holds is the same
// at every node.
type keepMetrics struct {
	tasks, oldest       *prometheus.GaugeVec
	ready, waiting      *prometheus.GaugeVec
	returned, expired   prometheus.Counter
	forgotten, failures prometheus.Counter

	shown map[string]bool // kinds; the keeper's loop owns it
}

// shownKinds bounds the labels: kinds are what those who enqueue make of them.
const (
	shownKinds = 100 // by name; the rest together are otherKind
	otherKind  = "other"
)

func newKeepMetrics(r prometheus.Registerer) *keepMetrics {
	f := promauto.With(r)
	gauge := func(name, help, label string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, []string{label})
	}
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	return &keepMetrics{
		tasks:     gauge("queued", "Tasks of all topics by state, counted up to 100,000, as every node sees them.", "state"),
		oldest:    gauge("oldest_age_seconds", "Since the oldest task of a state was enqueued.", "state"),
		ready:     gauge("lines_ready", "Lines of a kind that have a task to hand out, counted up to 10,000, as every node sees them.", "kind"),
		waiting:   gauge("waiting", "Tasks of a kind that were never handed out, of up to 10,000 lines, as every node sees them.", "kind"),
		returned:  counter("due_total", "Tasks that this node put back into their lines: their wait was over, or their lease."),
		expired:   counter("expired_total", "Tasks that this node found dead: the lease of their last try had ended; see `server tasks list`."),
		forgotten: counter("forgotten_total", "Tasks that this node removed 7 days after their end."),
		failures:  counter("keep_failures_total", "Rounds of this node's keeper that the store failed."),
	}
}

func (m *keepMetrics) depth(state State, many int64, oldest time.Duration) {
	m.tasks.WithLabelValues(string(state)).Set(float64(many))
	m.oldest.WithLabelValues(string(state)).Set(oldest.Seconds())
}

// backlogs shows kinds, and those no more that are not among them.
func (m *keepMetrics) backlogs(all []Backlog) {
	sums := map[string]Backlog{}
	for i, b := range all {
		label := b.Kind
		if i >= shownKinds {
			label = otherKind
		}
		sum := sums[label]
		sums[label] = Backlog{label, sum.Ready + b.Ready, sum.Tasks + b.Tasks}
	}
	for kind := range m.shown {
		if _, still := sums[kind]; !still {
			m.ready.DeleteLabelValues(kind)
			m.waiting.DeleteLabelValues(kind)
		}
	}
	m.shown = map[string]bool{}
	for kind, b := range sums {
		m.ready.WithLabelValues(kind).Set(float64(b.Ready))
		m.waiting.WithLabelValues(kind).Set(float64(b.Tasks))
		m.shown[kind] = true
	}
}

// The reasons of laststand_tasks_untold_total.
const (
	reasonFull   = "full"   // too many kinds woke at once
	reasonFailed = "failed" // the others could not be told
)

// relayMetrics are of what nodes tell each other.
type relayMetrics struct {
	told, heard, missed prometheus.Counter
	untold              *prometheus.CounterVec
}

func newRelayMetrics(r prometheus.Registerer) *relayMetrics {
	f := promauto.With(r)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	m := &relayMetrics{
		told:   counter("told_total", "Kinds that woke here and that other nodes were told of."),
		heard:  counter("heard_total", "Kinds that other nodes told of."),
		missed: counter("missed_total", "Times that words of other nodes may have been lost; all workers looked."),
		untold: f.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "untold_total", Help: "Kinds that other nodes were not told of, by reason; their polls find them.",
		}, []string{"reason"}),
	}
	for _, reason := range []string{reasonFull, reasonFailed} {
		m.untold.WithLabelValues(reason)
	}
	return m
}
