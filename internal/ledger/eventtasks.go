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
func (w *entryWriter) inTxWithTasks(ctx context.Context, f func(*sql.Tx) ([]taskqueue.NewTask, error)) error {
	return w.tasks.inQueueTx(ctx, func(tx *sql.Tx) (topicsToNotify []string, err error) {
		tasks, err := f(tx)
		if err != nil || len(tasks) == 0 {
			return nil, err
		}
		if _, topicsToNotify, err = w.tasks.enqueueInTx(ctx, tx, tasks); err != nil {
			return nil, fmt.Errorf("tasks: %w", err)
		}
		return topicsToNotify, nil
	})
}

// eventTasks returns the tasks that report the ended days of a head, and then the new
// results.
func (w *entryWriter) eventTasks(h *head, items ...*resultItem) (tasks []taskqueue.NewTask) {
	if w.events == nil {
		return nil
	}
	for _, day := range h.endedDays {
		tasks = append(tasks, w.events.TasksForEndedDay(h.game, day, h.now)...)
	}
	for _, item := range items {
		tasks = append(tasks, w.events.TasksForResult(item.result, h.now)...)
	}
	return slices.DeleteFunc(tasks, func(n taskqueue.NewTask) bool { return w.rejectInvalid(h.game, n) })
}

// rejectInvalid reports whether the queue can never accept a task, and then logs and counts
// it. The caller drops such a task, so that it does not block the result or the day.
func (w *entryWriter) rejectInvalid(game string, n taskqueue.NewTask) bool {
	err := n.Check()
	if err == nil {
		return false
	}
	w.droppedEvents.WithLabelValues(game).Inc()
	w.log.Error("event dropped: task queue refuses its task",
		"game", game, "topic", n.Topic, "key", n.Key, "error", err)
	return true
}

func newDroppedEvents(r prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "laststand_ledger_event_enqueue_failures_total", Help: "Events lost because the task queue refused their tasks; the log has the reason.",
	}, []string{"game"})
}
