package taskqueue

import (
	"log/slog"
	"maps"
	"time"
)

// deaths logs tasks that are dead, one of a topic in a minute, and of so many
// topics: what kills one mostly kills all that wait there. One goroutine uses it.
type deaths struct {
	logger *slog.Logger
	logged map[string]time.Time // when one was, by topic
}

const (
	deathEvery = time.Minute
	mostDeaths = 100 // topics
)

func (d *deaths) log(t *Task, why error) {
	now := time.Now()
	maps.DeleteFunc(d.logged, func(_ string, at time.Time) bool { return now.Sub(at) >= deathEvery })
	if _, ok := d.logged[t.Topic]; ok || len(d.logged) == mostDeaths {
		return
	}
	d.logged[t.Topic] = now
	d.logger.Error("a task is dead, and more of its topic may be within a minute; see `server tasks list`",
		"id", t.ID, "topic", t.Topic, "key", t.Key, "error", why)
}
