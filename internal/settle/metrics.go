package settle

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

// These are the reasons of laststand_settle_failures_total.
const (
	reasonQueueFull    = "queue_full"   // not accepted: left to a sweep
	reasonStopped      = "stopped"      // the same, for the end of the process
	reasonUnavailable  = "unavailable"  // a commit while the ledger was down
	reasonRefused      = "refused"      // a result that the ledger refuses for its own fault
	reasonUndecodable  = "undecodable"  // a pending result whose text cannot be decoded: a dead letter in the end
	reasonUnexpected   = "unexpected"   // a result that the ledger refuses with an unknown error, which is no outage
	reasonHeld         = "held"         // a result of a game whose results are refused one after another: left to a later sweep
	reasonPending      = "pending"      // committed or dead, and still pending; or a failed sweep
	reasonLeaderboards = "boards"       // applying the ledger to the leaderboards
	reasonNotification = "notification" // on disk, but its players were not notified: left to their nodes
)

type metrics struct {
	settled  prometheus.Counter
	dead     prometheus.Counter
	failures *prometheus.CounterVec
	batch    prometheus.Histogram
	seconds  prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer, queued func() float64) *metrics {
	factory := metric.For(registerer, "laststand_settle_")
	factory.GaugeFunc("queue_length", "Results that wait for their commit at this node.", queued)
	return &metrics{
		settled: factory.Counter("results_total", "Results that this node committed to the ledger, each counted by one node only."),
		dead:    factory.Counter("dead_letters_total", "Results that this node moved to the dead letters because the ledger refused them."),
		failures: factory.CountersOf("failures_total", "Failures of settlement by reason; no result is lost.", "reason",
			reasonQueueFull, reasonStopped, reasonUnavailable, reasonRefused, reasonUndecodable, reasonUnexpected, reasonHeld, reasonPending, reasonLeaderboards, reasonNotification),
		batch:   factory.Histogram("batch_size", "Results per commit.", prometheus.ExponentialBuckets(1, 2, 10)),
		seconds: factory.Histogram("commit_duration_seconds", "Duration of a commit.", prometheus.ExponentialBuckets(0.0005, 2, 15)),
	}
}

func (m *metrics) countFailures(reason string, n int) {
	m.failures.WithLabelValues(reason).Add(float64(n))
}

func (m *metrics) observeCommit(committed []Committed, took time.Duration) {
	for _, c := range committed {
		if c.IsNew {
			m.settled.Inc()
		}
	}
	m.batch.Observe(float64(len(committed)))
	m.seconds.Observe(took.Seconds())
}
