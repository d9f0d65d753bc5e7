package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/taskqueue"
)

var errAnswer = errors.New("the endpoint refused the message")

func oneEndpoint() []Endpoint { return []Endpoint{{Game: game, Name: "a"}} }

func TestADeliveryArrives(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.deliver(t, "a", "e1")
		time.Sleep(2 * time.Second)
		if posts := w.posts(); w.count(taskqueue.StateDone) != 1 || len(posts) != 1 || posts[0].ID != "e1" || string(posts[0].Body) != `"e1"` {
			t.Errorf("posted %+v", posts)
		}
		if n := testutil.ToFloat64(w.registry.metrics.sends.WithLabelValues(game, "a", "204")); n != 1 {
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
		{Reply{Err: errAnswer}, false, false},
		{Reply{Status: 500, Err: errAnswer}, false, false},
		{Reply{Status: 400, Err: errAnswer}, false, false},
		{Reply{Status: 301, Err: errAnswer}, false, false},
		{Reply{Status: 410, Err: errAnswer}, true, false},
		{Reply{Status: 429, Err: errAnswer}, false, true},
		{Reply{Status: 503, Err: errAnswer}, false, true},
		{Reply{Status: 502, RetryAfter: time.Minute, Err: errAnswer}, false, true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.reply.Status, test.reply.RetryAfter), func(t *testing.T) {
			t.Parallel()
			run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
				w.setReplies(test.reply)
				w.deliver(t, "a", "e1")
				time.Sleep(2 * time.Second)
				f := w.failures("e1")[0]
				if f.Final != test.final || f.Postponed != test.postponed || !errors.Is(f.Err, errAnswer) {
					t.Errorf("the delivery failed with %+v", f)
				}
				list, err := w.dispatcher.List(t.Context())
				if err != nil || list[0].Error != errAnswer.Error() || list[0].ErrorAt == 0 {
					t.Errorf("status %+v, %v", list, err)
				}
			})
		})
	}
}

// A delivery that never arrives is tried for one to six days, about three on
// average.
func TestAttemptsOfADeliveryTakeDays(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.setReplies(Reply{Status: 500, Err: errAnswer})
		w.deliver(t, "a", "e1")
		time.Sleep(24 * time.Hour)
		if w.count(taskqueue.StateLater) != 1 {
			t.Errorf("after a day the task is %+v", w.task(0))
		}
		time.Sleep(6 * 24 * time.Hour)
		if n := len(w.failures("e1")); w.count(taskqueue.StateDead) != 1 || n != maxAttempts {
			t.Errorf("after a week and %d tries the task is %+v", n, w.task(0))
		}
	})
}

func TestStatusGoneDisablesTheEndpoint(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.setReplies(Reply{Status: 410, Err: errAnswer})
		w.deliver(t, "a", "e1")
		time.Sleep(2 * time.Second)
		w.deliver(t, "a", "e2")
		time.Sleep(2 * time.Second)
		if f := w.last(t, "e2"); len(w.posts()) != 1 || !f.Final || !strings.Contains(f.Err.Error(), "server webhooks enable") {
			t.Errorf("%d posts, then %+v", len(w.posts()), f)
		}
		if tasks := w.registry.TasksForResult(duel(), at); len(tasks) > 0 {
			t.Errorf("enqueued for a disabled endpoint: %s", describeTasks(tasks))
		}
		if n := testutil.ToFloat64(w.registry.metrics.drops); n != 1 {
			t.Errorf("%v drops counted", n)
		}
		if n := testutil.ToFloat64(w.registry.metrics.disabled); n != 1 {
			t.Errorf("the metric of disabled endpoints is %v, want 1", n)
		}
	})
}

// A delivery that is requeued right after its endpoint was enabled arrives, also
// from a node that has not refreshed its states since.
func TestADeliveryArrivesAfterEnablingAtAnotherNode(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.enableElsewhere(t, "a")
		w.deliver(t, "a", "e1")
		time.Sleep(time.Second)
		if len(w.posts()) != 1 || w.count(taskqueue.StateDone) != 1 {
			t.Errorf("the task is %+v", w.task(0))
		}
	})
}

// If an endpoint is gone but cannot be disabled now, the delivery is tried again.
func TestStatusGoneIsRetriedWhileTheDatabaseFails(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		if _, err := w.dispatcher.List(t.Context()); err != nil { // reads the states
			t.Fatal(err)
		}
		w.setUnavailable(true)
		w.setReplies(Reply{Status: 410, Err: errAnswer})
		w.deliver(t, "a", "e1")
		time.Sleep(2 * time.Second)
		if f := w.failures("e1")[0]; f.Final || f.Postponed || !errors.Is(f.Err, errAway) {
			t.Errorf("the delivery failed with %+v", f)
		}
		w.setUnavailable(false)
		time.Sleep(time.Hour)
		if w.count(taskqueue.StateDead) != 1 || !w.isDisabled("a") {
			t.Errorf("the task is %+v", w.task(0))
		}
	})
}

// Another node or an operator disables and enables an endpoint.
func TestChangesOfEndpointStatesAreNoticed(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		go func() { _ = w.dispatcher.Run(ctx) }() // ends with the test
		time.Sleep(time.Second)
		_ = w.DisableEndpoint(t.Context(), game, "a", "it fails")
		time.Sleep(refreshInterval)
		w.deliver(t, "a", "e1")
		time.Sleep(2 * time.Second)
		if f := w.last(t, "e1"); len(w.posts()) > 0 || !f.Final || !strings.Contains(f.Err.Error(), "it fails") {
			t.Errorf("%d posts, then %+v", len(w.posts()), f)
		}
		w.setUnavailable(true) // the known states stay valid
		time.Sleep(refreshInterval)
		if tasks := w.registry.TasksForResult(duel(), at); len(tasks) > 0 {
			t.Errorf("enqueued %s", describeTasks(tasks))
		}
		w.setUnavailable(false)
		_ = w.EnableEndpoint(t.Context(), game, "a")
		time.Sleep(refreshInterval)
		if tasks := w.registry.TasksForResult(duel(), at); len(tasks) != 1 {
			t.Errorf("enqueued %s", describeTasks(tasks))
		}
	})
}

// Nothing is sent before the states of the endpoints are known.
func TestNothingIsSentBeforeTheStatesAreKnown(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, w *fixture) {
		w.away = true
		w.deliver(t, "a", "e1")
		task := w.task(0)
		if err := w.dispatcher.deliver(t.Context(), task); !errors.Is(err, errAway) || len(w.posts()) > 0 {
			t.Errorf("%v after %d posts", err, len(w.posts()))
		}
		w.away = false
		if err := w.dispatcher.deliver(t.Context(), task); err != nil || len(w.posts()) != 1 {
			t.Errorf("%v after %d posts", err, len(w.posts()))
		}
	})
}

// If the database hangs, concurrent readers together wait no longer than one reader.
func TestConcurrentStateReadersShareOneTimeout(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, w *fixture) {
		w.hangs = true
		startedAt := time.Now()
		var asking sync.WaitGroup
		for range 20 {
			asking.Go(func() {
				if err := w.dispatcher.refreshStates(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v", err)
				}
			})
		}
		asking.Wait()
		if elapsed := time.Since(startedAt); elapsed != callTimeout {
			t.Errorf("the readers took %s, want callTimeout", elapsed)
		}
	})
}

// A node with an older configuration leaves the deliveries of a new endpoint to
// other nodes. After configRollout they are dead.
func TestDeliveriesOfAnUnknownEndpointBecomeDead(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.deliver(t, "b", "e1")
		time.Sleep(2 * time.Second)
		if f := w.last(t, "e1"); !f.Postponed || f.Wait != time.Minute {
			t.Errorf("the delivery failed with %+v", f)
		}
		time.Sleep(configRollout + 2*time.Minute)
		if f := w.last(t, "e1"); !f.Final || w.count(taskqueue.StateDead) != 1 || len(w.posts()) > 0 {
			t.Errorf("the delivery failed with %+v", f)
		}
	})
}

// An attempt that the end of the process interrupts is returned, and does not
// count as a failure of the endpoint.
func TestAnInterruptedAttemptIsReturned(t *testing.T) {
	t.Parallel()
	var left *fixture
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.answer = func(ctx context.Context, _ Endpoint, _ Message) Reply {
			<-ctx.Done()
			return Reply{Err: errAnswer}
		}
		w.deliver(t, "a", "e1")
		time.Sleep(2 * time.Second)
		left = w
	})
	if task := *left.tasks[0]; task.State != taskqueue.StateWaiting || len(left.failed) > 0 || left.registry.endpoints()[0].lastError != "" {
		t.Errorf("the task is %+v", task)
	}
}
