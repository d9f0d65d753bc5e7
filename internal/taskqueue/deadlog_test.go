package taskqueue

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// At most one dead task per topic and minute is logged. After that minute the log forgets the
// topic. When maxTopicsPerInterval topics are in memory, dead
// tasks of further topics are not logged.
func TestOneDeadTaskPerTopicAndMinuteIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		deadTasks := &deadLog{slog.New(slog.NewTextHandler(&log, nil)), map[string]time.Time{}}
		checkCounts := func(lines, topics int) {
			t.Helper()
			if n := bytes.Count(log.Bytes(), []byte("\n")); n != lines || len(deadTasks.lastLogged) != topics {
				t.Errorf("%d lines, want %d; %d topics, want %d", n, lines, len(deadTasks.lastLogged), topics)
			}
		}
		logDeadTask := func(topic string) { deadTasks.log(&Task{Topic: topic}, errors.New("the endpoint is gone")) }
		for range 1000 {
			logDeadTask("webhook/demo/a")
			logDeadTask("webhook/demo/b")
		}
		checkCounts(2, 2)
		time.Sleep(deadLogInterval - time.Nanosecond)
		logDeadTask("webhook/demo/a")
		checkCounts(2, 2)
		time.Sleep(time.Nanosecond)
		logDeadTask("webhook/demo/a")
		checkCounts(3, 1)
		for i := range 2 * maxTopicsPerInterval {
			logDeadTask(fmt.Sprint("topic ", i))
		}
		checkCounts(3+maxTopicsPerInterval-1, maxTopicsPerInterval)
	})
}
