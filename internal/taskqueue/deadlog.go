package taskqueue

import (
	"log/slog"
	"maps"
	"time"
)

// deadLog logs dead tasks, at most one per topic and minute, because one cause
// often makes all tasks of a topic dead. Only one goroutine may use it.
type deadLog struct {
	logger     *slog.Logger
	lastLogged map[string]time.Time // when a dead task was last logged, by topic
}

const (
	deadLogInterval      = time.Minute
	maxTopicsPerInterval = 100 // dead tasks of further topics are not logged
)

func (d *deadLog) log(t *Task, cause error) {
	now := time.Now()
	maps.DeleteFunc(d.lastLogged, func(_ string, loggedAt time.Time) bool { return now.Sub(loggedAt) >= deadLogInterval })
	if _, ok := d.lastLogged[t.Topic]; ok || len(d.lastLogged) == maxTopicsPerInterval {
		return
	}
	d.lastLogged[t.Topic] = now
	d.logger.Error("task is dead; further dead tasks of its topic are not logged for a minute; see `server tasks list`",
		"id", t.ID, "topic", t.Topic, "key", t.Key, "error", cause)
}
