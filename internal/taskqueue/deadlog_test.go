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
		d := &deadLog{slog.New(slog.NewTextHandler(&log, nil)), map[string]time.Time{}}
		want := func(lines, topics int) {
			t.Helper()
			if n := bytes.Count(log.Bytes(), []byte("\n")); n != lines || len(d.lastLogged) != topics {
				t.Errorf("%d lines, want %d; %d topics, want %d", n, lines, len(d.lastLogged), topics)
			}
		}
		die := func(topic string) { d.log(&Task{Topic: topic}, errors.New("the endpoint is gone")) }
		for range 1000 {
			die("webhook/demo/a")
			die("webhook/demo/b")
		}
		want(2, 2)
		time.Sleep(deadLogInterval - time.Nanosecond)
		die("webhook/demo/a")
		want(2, 2)
		time.Sleep(time.Nanosecond)
		die("webhook/demo/a")
		want(3, 1)
		for i := range 2 * maxTopicsPerInterval {
			die(fmt.Sprint("topic ", i))
		}
		want(3+maxTopicsPerInterval-1, maxTopicsPerInterval)
	})
}
