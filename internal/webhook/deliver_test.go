package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

var errReply = errors.New("the endpoint refused the message")

func oneEndpoint() []Endpoint { return []Endpoint{{Game: game, Name: "a"}} }

func TestADeliveryArrives(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(2 * time.Second)
		if posts := env.posts(); env.countTasks(taskqueue.StateDone) != 1 || len(posts) != 1 || posts[0].ID != "e1" || string(posts[0].Body) != `"e1"` {
			t.Errorf("posted %+v", posts)
		}
		if n := testutil.ToFloat64(env.registry.metrics.sends.WithLabelValues(game, "a", "204")); n != 1 {
			t.Errorf("%v sends counted", n)
		}
	})
}

// The reply decides whether the delivery is retried, postponed or final.
func TestTheReplyDecidesTheDelivery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reply            Reply
		final, postponed bool
	}{
		{Reply{Err: errReply}, false, false},
		{Reply{Status: 500, Err: errReply}, false, false},
		{Reply{Status: 400, Err: errReply}, false, false},
		{Reply{Status: 301, Err: errReply}, false, false},
		{Reply{Status: 410, Err: errReply}, true, false},
		{Reply{Status: 429, Err: errReply}, false, true},
		{Reply{Status: 503, Err: errReply}, false, true},
		{Reply{Status: 502, RetryAfter: time.Minute, Err: errReply}, false, true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.reply.Status, test.reply.RetryAfter), func(t *testing.T) {
			runWithWorkers(t, oneEndpoint(), func(t *testing.T, w *fixture) {
				w.setReplies(test.reply)
				w.enqueueDeliveries(t, "a", "e1")
				time.Sleep(2 * time.Second)
				f := w.failures("e1")[0]
				if f.Final != test.final || f.Postponed != test.postponed || !errors.Is(f.Err, errReply) {
					t.Errorf("the delivery failed with %+v", f)
				}
				list, err := w.dispatcher.List(t.Context())
				if err != nil || list[0].Error != errReply.Error() || list[0].ErrorAt == 0 {
					t.Errorf("status %+v, %v", list, err)
				}
			})
		})
	}
}

// A delivery that never arrives is tried for one to six days, about three on
// average.
func TestAttemptsOfADeliveryTakeDays(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.setReplies(Reply{Status: 500, Err: errReply})
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(24 * time.Hour)
		if env.countTasks(taskqueue.StateLater) != 1 {
			t.Errorf("after a day the task is %+v", env.task(0))
		}
		time.Sleep(6 * 24 * time.Hour)
		if n := len(env.failures("e1")); env.countTasks(taskqueue.StateDead) != 1 || n != maxAttempts {
			t.Errorf("after a week and %d tries the task is %+v", n, env.task(0))
		}
	})
}

// An operator learns from the log that an endpoint has started to fail, once until it accepts a
// message again. The status shows when that was.
func TestAnEndpointThatStartsToFailIsLoggedOnce(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, w *fixture) {
		warnings := new(recordCounter)
		w.dispatcher.Logger = slog.New(warnings)
		for i, step := range []struct {
			reply    Reply
			warnings int
		}{
			{Reply{Status: 204}, 0}, {Reply{Status: 500, Err: errReply}, 1}, {Reply{Status: 503, Err: errReply}, 1},
			{Reply{Status: 204}, 1}, {Reply{Status: 500, Err: errReply}, 2}, {Reply{Status: 204}, 2},
		} {
			time.Sleep(time.Second)
			w.setReplies(step.reply)
			testenv.Need(w.dispatcher.Ping(t.Context(), game, "a"))(t)
			if warnings.count != step.warnings {
				t.Errorf("after attempt %d there are %d warnings, want %d", i, warnings.count, step.warnings)
			}
		}
		s := w.registry.endpoints()[0].status()
		if now := time.Now().UnixMilli(); s.AcceptedAt != now || s.ErrorAt != now-1000 {
			t.Errorf("at %d the status is %+v", now, s)
		}
	})
}

// recordCounter counts log records of level WARN and above.
type recordCounter struct{ count int }

func (c *recordCounter) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}
func (c *recordCounter) Handle(context.Context, slog.Record) error { c.count++; return nil }
func (c *recordCounter) WithAttrs([]slog.Attr) slog.Handler        { return c }
func (c *recordCounter) WithGroup(string) slog.Handler             { return c }

func TestStatusGoneDisablesTheEndpoint(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.setReplies(Reply{Status: 410, Err: errReply})
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(2 * time.Second)
		env.enqueueDeliveries(t, "a", "e2")
		time.Sleep(2 * time.Second)
		if f := env.lastFailure(t, "e2"); len(env.posts()) != 1 || !f.Final || !strings.Contains(f.Err.Error(), "server webhooks enable") {
			t.Errorf("%d posts, then %+v", len(env.posts()), f)
		}
		if tasks := env.registry.TasksForResult(duelResult(), eventTime); len(tasks) > 0 {
			t.Errorf("enqueued for a disabled endpoint: %s", describeTasks(tasks))
		}
		if n := testutil.ToFloat64(env.registry.metrics.drops); n != 1 {
			t.Errorf("%v drops counted", n)
		}
		if n := testutil.ToFloat64(env.registry.metrics.disabled); n != 1 {
			t.Errorf("the metric of disabled endpoints is %v, want 1", n)
		}
	})
}

// A delivery that is requeued right after its endpoint was enabled arrives, also
// from a node that has not refreshed its states since.
func TestADeliveryArrivesAfterEnablingAtAnotherNode(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.enableElsewhere(t, "a")
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(time.Second)
		if len(env.posts()) != 1 || env.countTasks(taskqueue.StateDone) != 1 {
			t.Errorf("the task is %+v", env.task(0))
		}
	})
}

// If an endpoint is gone but cannot be disabled now, the delivery is tried again.
func TestStatusGoneIsRetriedWhileTheDatabaseFails(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		if _, err := env.dispatcher.List(t.Context()); err != nil { // reads the states
			t.Fatal(err)
		}
		env.setUnavailable(true)
		env.setReplies(Reply{Status: 410, Err: errReply})
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(2 * time.Second)
		if f := env.failures("e1")[0]; f.Final || f.Postponed || !errors.Is(f.Err, errUnavailable) {
			t.Errorf("the delivery failed with %+v", f)
		}
		env.setUnavailable(false)
		time.Sleep(time.Hour)
		if env.countTasks(taskqueue.StateDead) != 1 || !env.isDisabled("a") {
			t.Errorf("the task is %+v", env.task(0))
		}
	})
}

// Another node or an operator disables and enables an endpoint.
func TestChangesOfEndpointStatesAreNoticed(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		testenv.Run(t, env.dispatcher.Run)
		time.Sleep(time.Second)
		_ = env.DisableEndpoint(t.Context(), game, "a", "it fails")
		time.Sleep(refreshInterval)
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(2 * time.Second)
		if f := env.lastFailure(t, "e1"); len(env.posts()) > 0 || !f.Final || !strings.Contains(f.Err.Error(), "it fails") {
			t.Errorf("%d posts, then %+v", len(env.posts()), f)
		}
		env.setUnavailable(true) // the known states stay valid
		time.Sleep(refreshInterval)
		if tasks := env.registry.TasksForResult(duelResult(), eventTime); len(tasks) > 0 {
			t.Errorf("enqueued %s", describeTasks(tasks))
		}
		env.setUnavailable(false)
		_ = env.EnableEndpoint(t.Context(), game, "a")
		time.Sleep(refreshInterval)
		if tasks := env.registry.TasksForResult(duelResult(), eventTime); len(tasks) != 1 {
			t.Errorf("enqueued %s", describeTasks(tasks))
		}
	})
}

// Nothing is sent before the states of the endpoints are known.
func TestNothingIsSentBeforeTheStatesAreKnown(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, env *fixture) {
		env.unavailable = true
		env.enqueueDeliveries(t, "a", "e1")
		task := env.task(0)
		if err := env.dispatcher.deliver(t.Context(), task); !errors.Is(err, errUnavailable) || len(env.posts()) > 0 {
			t.Errorf("%v after %d posts", err, len(env.posts()))
		}
		env.unavailable = false
		if err := env.dispatcher.deliver(t.Context(), task); err != nil || len(env.posts()) != 1 {
			t.Errorf("%v after %d posts", err, len(env.posts()))
		}
	})
}

// If the database hangs, concurrent readers together wait no longer than one reader.
func TestConcurrentStateReadersShareOneTimeout(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, env *fixture) {
		env.hangs = true
		startedAt := time.Now()
		var readers sync.WaitGroup
		for range 20 {
			readers.Go(func() {
				if err := env.dispatcher.refreshStates(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
			})
		}
		readers.Wait()
		if elapsed := time.Since(startedAt); elapsed != callTimeout {
			t.Errorf("the readers took %s, want callTimeout", elapsed)
		}
	})
}

// A node with an older configuration leaves the deliveries of a new endpoint to
// other nodes. After configRollout they are dead.
func TestDeliveriesOfAnUnknownEndpointBecomeDead(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.enqueueDeliveries(t, "b", "e1")
		time.Sleep(2 * time.Second)
		if f := env.lastFailure(t, "e1"); !f.Postponed || f.Wait != time.Minute {
			t.Errorf("the delivery failed with %+v", f)
		}
		time.Sleep(configRollout + 2*time.Minute)
		if f := env.lastFailure(t, "e1"); !f.Final || env.countTasks(taskqueue.StateDead) != 1 || len(env.posts()) > 0 {
			t.Errorf("the delivery failed with %+v", f)
		}
	})
}

// An attempt that the end of the process interrupts is returned, and does not
// count as a failure of the endpoint.
func TestAnInterruptedAttemptIsReturned(t *testing.T) {
	var stopped *fixture
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.respond = func(ctx context.Context, _ Endpoint, _ Message) Reply {
			<-ctx.Done()
			return Reply{Err: errReply}
		}
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(2 * time.Second)
		stopped = env
	})
	if task := *stopped.tasks[0]; task.State != taskqueue.StateWaiting || task.Tries > 0 || len(task.Errors) > 0 || stopped.registry.endpoints()[0].status().Error != "" {
		t.Errorf("the task is %+v", task)
	}
}
