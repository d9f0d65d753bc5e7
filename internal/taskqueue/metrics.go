package taskqueue

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const metricPrefix = "laststand_tasks_"

// The reasons of laststand_tasks_failures_total.
const (
	reasonError     = "error"     // the handler failed
	reasonPermanent = "permanent" // the handler failed, and no further attempt can repair it
	reasonPanic     = "panic"     // the handler panicked
	reasonLost      = "lost"      // the lease had ended, or an operator changed the task
	reasonReturned  = "returned"  // the process ended and returned the task
	reasonPostponed = "postponed" // the handler made no attempt; see Postpone
	reasonStore     = "store"     // a call of the store failed
)

// workMetrics are metrics about the workers of this node, by kind of task.
type workMetrics struct {
	claimed, completed, dead *prometheus.CounterVec
	failures                 *prometheus.CounterVec // by kind and reason
	attemptSeconds           *prometheus.HistogramVec
}

func newWorkMetrics(r prometheus.Registerer, kinds []string) *workMetrics {
	factory := promauto.With(r)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: metricPrefix + name, Help: help}, append([]string{"kind"}, labels...))
	}
	metrics := &workMetrics{
		claimed:   counter("claims_total", "Attempts at tasks that this node started."),
		completed: counter("completions_total", "Tasks that this node completed."),
		dead:      counter("dead_letters_total", "Tasks that became dead letters after an attempt of this node; see `server tasks list`."),
		failures:  counter("failures_total", "Attempts of this node that failed, by reason.", "reason"),
		attemptSeconds: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: metricPrefix + "attempt_duration_seconds", Help: "Duration of an attempt.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"kind"}),
	}
	for _, kind := range kinds {
		for _, reason := range []string{reasonError, reasonPermanent, reasonPanic, reasonLost, reasonReturned, reasonPostponed, reasonStore} {
			metrics.failures.WithLabelValues(kind, reason)
		}
	}
	return metrics
}

// maintenanceMetrics are metrics of the Maintainer of this node. The gauges
// describe the whole queue and are the same at every node.
type maintenanceMetrics struct {
	tasks, oldest             *prometheus.GaugeVec // by state
	readyQueues, waitingTasks *prometheus.GaugeVec // by kind
	returned, expired         prometheus.Counter
	forgotten, failures       prometheus.Counter

	shownKinds map[string]bool // kinds that have gauges now; only the loop of the Maintainer uses it
}

// The limit of the label kind. A limit is needed because callers of Enqueue can
// use any kind.
const (
	maxShownKinds = 100 // the first ones by name; the others are added up as otherKind
	otherKind     = "other"
)

func newMaintenanceMetrics(r prometheus.Registerer) *maintenanceMetrics {
	factory := promauto.With(r)
	gauge := func(name, help, label string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: metricPrefix + name, Help: help}, []string{label})
	}
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: metricPrefix + name, Help: help})
	}
	return &maintenanceMetrics{
		tasks:        gauge("queue_length", "Tasks of all topics by state, counted up to 100,000, the same at every node.", "state"),
		oldest:       gauge("oldest_age_seconds", "Age of the oldest task of a state.", "state"),
		readyQueues:  gauge("ready_queues", "Queues of a kind that have a task to hand out, counted up to 10,000, the same at every node.", "kind"),
		waitingTasks: gauge("backlog", "Tasks of a kind that no worker has claimed yet, of up to 10,000 queues, the same at every node.", "kind"),
		returned:     counter("requeues_total", "Tasks that this node put back into their queues because their delay or lease ended."),
		expired:      counter("expirations_total", "Tasks that became dead letters because the lease of their last attempt ended; see `server tasks list`."),
		forgotten:    counter("deletions_total", "Tasks that this node deleted 7 days after their end."),
		failures:     counter("maintenance_failures_total", "Maintenance rounds of this node that failed because of the store."),
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
	for kind := range m.shownKinds {
		if _, isPresent := sums[kind]; !isPresent {
			m.readyQueues.DeleteLabelValues(kind)
			m.waitingTasks.DeleteLabelValues(kind)
		}
	}
	m.shownKinds = map[string]bool{}
	for kind, backlog := range sums {
		m.readyQueues.WithLabelValues(kind).Set(float64(backlog.Ready))
		m.waitingTasks.WithLabelValues(kind).Set(float64(backlog.Tasks))
		m.shownKinds[kind] = true
	}
}

// The results of laststand_tasks_notifications_total.
const (
	notificationSent     = "sent"     // to the other nodes
	notificationReceived = "received" // from another node
	notificationLost     = "lost"     // messages of other nodes may be lost, so all workers polled
	notificationDropped  = "dropped"  // not sent, because more than maxPendingKinds were pending
	notificationFailed   = "failed"   // not sent, because the call failed
)

func newNotificationCounter(r prometheus.Registerer) *prometheus.CounterVec {
	notifications := promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: metricPrefix + "notifications_total",
		Help: "Kinds of ready tasks that nodes notify each other about, by result; the polls of the other nodes find those lost, dropped or failed.",
	}, []string{"result"})
	for _, result := range []string{notificationSent, notificationReceived, notificationLost, notificationDropped, notificationFailed} {
		notifications.WithLabelValues(result)
	}
	return notifications
}
