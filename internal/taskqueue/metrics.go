package taskqueue

import (
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

const metricPrefix = "laststand_tasks_"

// The reasons of failed attempts.
const (
	reasonError     = "error"     // the handler failed
	reasonPermanent = "permanent" // the handler failed, and no further attempt can repair it
	reasonPanic     = "panic"     // the handler panicked
	reasonLost      = "lost"      // the lease had ended, or an operator changed the task
	reasonReturned  = "returned"  // the process ended, or the caller left, and the task was returned
	reasonPostponed = "postponed" // the handler made no attempt; see Postpone
	reasonStore     = "store"     // a call of the store failed
)

// workMetrics are metrics about the workers of this node, by kind of task.
type workMetrics struct {
	claimed, completed, dead *prometheus.CounterVec
	failures                 *prometheus.CounterVec // by kind and reason
	attemptSeconds           *prometheus.HistogramVec
}

func newWorkMetrics(r prometheus.Registerer, kinds []KindConfig) *workMetrics {
	factory := metric.For(r, metricPrefix)
	metrics := &workMetrics{
		claimed:        factory.Counters("claims_total", "Attempts at tasks that this node started.", "kind"),
		completed:      factory.Counters("completions_total", "Tasks that this node completed.", "kind"),
		dead:           factory.Counters("dead_letters_total", "Tasks that became dead letters after an attempt of this node; see `server tasks list`.", "kind"),
		failures:       factory.Counters("failures_total", "Attempts of this node that failed, by reason.", "kind", "reason"),
		attemptSeconds: factory.Histograms("attempt_duration_seconds", "Duration of an attempt.", prometheus.ExponentialBuckets(0.001, 2, 16), "kind"),
	}
	for _, kind := range kinds {
		for _, reason := range []string{reasonError, reasonPermanent, reasonPanic, reasonLost, reasonReturned, reasonPostponed, reasonStore} {
			metrics.failures.WithLabelValues(kind.Kind, reason)
		}
	}
	return metrics
}

// maintenanceMetrics are metrics of the Maintainer of this node. The gauges
// describe the whole queue and are the same at every node.
type maintenanceMetrics struct {
	tasks, oldest             *prometheus.GaugeVec // by state
	readyQueues, waitingTasks *prometheus.GaugeVec // by kind
	shown                     map[string]Backlog   // by kind: what the gauges show; only the loop of the Maintainer uses it
	returned, expired         prometheus.Counter
	forgotten, failures       prometheus.Counter
}

// The limit of the label kind. A limit is needed because callers of Enqueue can
// use any kind.
const (
	maxShownKinds = 100 // the first ones by name; the others are added up as otherKind
	otherKind     = "other"
)

func newMaintenanceMetrics(r prometheus.Registerer) *maintenanceMetrics {
	factory := metric.For(r, metricPrefix)
	return &maintenanceMetrics{
		tasks:        factory.Gauges("queue_length", "Tasks of all topics by state, counted up to 100,000, the same at every node.", "state"),
		oldest:       factory.Gauges("oldest_age_seconds", "Age of the oldest task of a state.", "state"),
		readyQueues:  factory.Gauges("ready_queues", "Queues of a kind that have a task to hand out, counted up to 10,000, the same at every node.", "kind"),
		waitingTasks: factory.Gauges("backlog", "Tasks of a kind that no worker has claimed yet, of up to 10,000 queues, the same at every node.", "kind"),
		returned:     factory.Counter("requeues_total", "Tasks that this node put back into their queues because their delay or lease ended."),
		expired:      factory.Counter("expirations_total", "Tasks that became dead letters because the lease of their last attempt ended; see `server tasks list`."),
		forgotten:    factory.Counter("deletions_total", "Tasks that this node deleted 7 days after their end."),
		failures:     factory.Counter("maintenance_failures_total", "Maintenance rounds of this node that failed because of the store."),
	}
}

// setBacklogs sets the gauges of the kinds and removes those of kinds without a
// backlog.
func (m *maintenanceMetrics) setBacklogs(backlogs []Backlog) {
	sums := map[string]Backlog{}
	for i, backlog := range backlogs {
		label := backlog.Kind
		if i >= maxShownKinds {
			label = otherKind
		}
		sum := sums[label]
		sums[label] = Backlog{label, sum.Ready + backlog.Ready, sum.Tasks + backlog.Tasks}
	}
	for kind := range m.shown {
		if _, isPresent := sums[kind]; !isPresent {
			m.readyQueues.DeleteLabelValues(kind)
			m.waitingTasks.DeleteLabelValues(kind)
		}
	}
	m.shown = sums
	for kind, backlog := range sums {
		m.readyQueues.WithLabelValues(kind).Set(float64(backlog.Ready))
		m.waitingTasks.WithLabelValues(kind).Set(float64(backlog.Tasks))
	}
}

// The limits that a poll can reach, which are values of the label bound of
// laststand_game_tasks_poll_refusals_total.
const (
	limitNode = "node" // maxWaitingPolls
	limitGame = "game" // maxWaitingPerGame
)

// The values of the label key: whether a task with the same key existed.
const (
	keyNew   = "new"
	keyKnown = "known"
)

// tenantMetrics are metrics about the calls of games' programs at this node.
type tenantMetrics struct {
	enqueues                 *prometheus.CounterVec
	claimed, completed, dead prometheus.Counter
	failures, refusedPolls   *prometheus.CounterVec
	waiting                  prometheus.Gauge
}

func newTenantMetrics(r prometheus.Registerer) *tenantMetrics {
	factory := metric.For(r, "laststand_game_tasks_")
	return &tenantMetrics{
		enqueues:  factory.CountersOf("enqueues_total", "Tasks that games enqueued at this node, by whether their key was new or known.", "key", keyNew, keyKnown),
		claimed:   factory.Counter("claims_total", "Tasks of games that this node handed to a worker."),
		completed: factory.Counter("completions_total", "Tasks of games that workers completed at this node."),
		dead:      factory.Counter("dead_letters_total", "Tasks of games that became dead letters after an attempt reported to this node; see `server tasks list`."),
		failures: factory.CountersOf("failures_total", "Attempts of games' workers that failed, by reason; lost: the lease had ended; "+
			"returned: the worker left; store: the store failed.", "reason",
			reasonError, reasonPermanent, reasonPostponed, reasonLost, reasonReturned, reasonStore),
		refusedPolls: factory.CountersOf("poll_refusals_total", "Long polls that could not wait because a limit was reached, by whose limit.", "bound", limitNode, limitGame),
		waiting:      factory.Gauge("polls", "Long polls of games' workers that wait at this node."),
	}
}

func (m *tenantMetrics) countEnqueued(accepted []Accepted) {
	for _, a := range accepted {
		if a.New {
			m.enqueues.WithLabelValues(keyNew).Inc()
		} else {
			m.enqueues.WithLabelValues(keyKnown).Inc()
		}
	}
}

// countFailure counts a failed attempt that the store has recorded.
func (m *tenantMetrics) countFailure(attempt *FailedAttempt) {
	m.failures.WithLabelValues(attempt.metricReason()).Inc()
	if attempt.isDead {
		m.dead.Inc()
	}
}

func (m *tenantMetrics) countLost(lost []Lease) {
	m.failures.WithLabelValues(reasonLost).Add(float64(len(lost)))
}
