package taskqueue

import (
	"log/slog"
	"maps"
	"time"
)

// deadLog logs dead tasks, at most one per topic and minute. One fault often
// kills all tasks of a topic. One goroutine uses it.
type deadLog struct {
	logger     *slog.Logger
	lastLogged map[string]time.Time // when a dead task was last logged, by topic
}

const (
	deadLogInterval = time.Minute
	maxLoggedTopics = 100 // topics per minute
)

func (d *deadLog) log(t *Task, cause error) {
	now := time.Now()
	maps.DeleteFunc(d.lastLogged, func(_ string, loggedAt time.Time) bool { return now.Sub(loggedAt) >= deadLogInterval })
	if _, ok := d.lastLogged[t.Topic]; ok || len(d.lastLogged) == maxLoggedTopics {
		return
	}
	d.lastLogged[t.Topic] = now
	d.logger.Error("a task is dead, and more of its topic may be within a minute; see `server tasks list`",
		"id", t.ID, "topic", t.Topic, "key", t.Key, "error", cause)
}
