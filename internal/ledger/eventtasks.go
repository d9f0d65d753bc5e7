package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/taskqueue"
)

// inTxWithTasks runs f in one writing transaction, and at its end enqueues the tasks that
// f returns. So the tasks exist if and only if the changes of f do. After the commit it
// notifies the topics of the tasks.
func (l *Ledger) inTxWithTasks(ctx context.Context, f func(*sql.Tx) ([]taskqueue.NewTask, error)) error {
	return l.queueTx(ctx, func(tx *sql.Tx) (woken []string, err error) {
		tasks, err := f(tx)
		if err != nil || len(tasks) == 0 {
			return nil, err
		}
		if _, woken, err = l.enqueue(ctx, tx, tasks); err != nil {
			return nil, fmt.Errorf("tasks: %w", err)
		}
		return woken, nil
	})
}

// eventTasks returns the tasks that report the ended days of a head, and then the new
// results.
func (l *Ledger) eventTasks(h *head, items ...*batchItem) (tasks []taskqueue.NewTask) {
	if l.events == nil {
		return nil
	}
	for _, day := range h.endedDays {
		tasks = append(tasks, l.events.Sealed(h.game, day, h.now)...)
	}
	for _, it := range items {
		tasks = append(tasks, l.events.Settled(it.result, h.now)...)
	}
	return slices.DeleteFunc(tasks, func(n taskqueue.NewTask) bool { return l.isRefused(h.game, n) })
}

// isRefused reports whether the queue can never accept a task, and then logs and counts
// it. The caller drops such a task, so that it does not block the result or the day.
func (l *Ledger) isRefused(game string, n taskqueue.NewTask) bool {
	err := n.Check()
	if err == nil {
		return false
	}
	l.refusedEvents.WithLabelValues(game).Inc()
	l.log.Error("event dropped: task queue refuses its task",
		"game", game, "topic", n.Topic, "key", n.Key, "error", err)
	return true
}

func newRefusedEvents(r prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_ledger_event_enqueue_failures_total", Help: "Events lost because the task queue refused their tasks; the log has the reason.",
	}, []string{"game"})
}
