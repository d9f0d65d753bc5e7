package webhook

import (
	"context"
	"fmt"
	"testing"
	"time"

	"laststand/internal/taskqueue"
)

// An endpoint gets no attempt during a pause that it has requested. Tasks are
// postponed during the pause, and the postponed attempts do not count.
func TestAnEndpointCanAskForAPause(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.setReplies(Reply{Status: 429, RetryAfter: 70 * time.Second, Err: errAnswer})
		w.deliver(t, "a", "e1")
		time.Sleep(2 * time.Second)
		w.setReplies(Reply{Status: 200})
		w.deliver(t, "a", "e2")
		time.Sleep(60 * time.Second)
		if f := w.last(t, "e2"); len(w.posts()) != 1 || !f.Postponed || f.Wait < 60*time.Second || f.Wait > 80*time.Second {
			t.Errorf("%d posts, then %+v", len(w.posts()), f)
		}
		time.Sleep(20 * time.Second)
		if first := w.task(0); w.count(taskqueue.StateDone) != 2 || first.Tries != 1 {
			t.Errorf("tasks %+v, %+v", first, w.task(1))
		}
	})
}

// The first pause of an endpoint that names no duration is 30 s. Later ones grow
// until it accepts a message.
func TestDefaultPausesGrow(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.setReplies(Reply{Status: 503, Err: errAnswer})
		w.deliver(t, "a", "e1")
		time.Sleep(time.Hour)
		tries := w.posts()
		for i, least := range []time.Duration{minDefaultPause, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, maxDefaultPause, maxDefaultPause} {
			if rest := tries[i+1].at.Sub(tries[i].at); rest < least || rest > least+5*time.Second {
				t.Errorf("pause %d is %s, want %s", i, rest, least)
			}
		}
		w.setReplies(Reply{Status: 200})
		time.Sleep(maxDefaultPause + time.Minute)
		w.setReplies(Reply{Status: 503, Err: errAnswer})
		w.deliver(t, "a", "e2")
		time.Sleep(2 * time.Second)
		if f := w.last(t, "e2"); f.Wait < minDefaultPause || f.Wait > minDefaultPause+5*time.Second {
			t.Errorf("after an accepted message, the next failed with %+v", f)
		}
	})
}

// Attempts that end together cause one pause.
func TestConcurrentAttemptsCauseOnePause(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.answer = func(context.Context, Endpoint, Message) Reply {
			time.Sleep(100 * time.Millisecond)
			return Reply{Status: 503, Err: errAnswer}
		}
		w.deliver(t, "a", numberedMatch("e", slotsPerEndpoint)...)
		time.Sleep(2 * time.Second)
		w.setReplies(Reply{Status: 200})
		time.Sleep(minDefaultPause + 5*time.Second)
		if n := w.count(taskqueue.StateDone); n != slotsPerEndpoint {
			t.Errorf("%d tasks are done", n)
		}
	})
}

// If an endpoint is busy for days, its deliveries use up attempts.
func TestThrottlingForDaysUsesUpAttempts(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.setReplies(Reply{Status: 503, Err: errAnswer})
		w.deliver(t, "a", "e1")
		time.Sleep(maxThrottledAge - time.Hour)
		if task := w.task(0); task.State != taskqueue.StateLater || task.Tries != 0 {
			t.Errorf("the task is %+v", task)
		}
		time.Sleep(10 * 24 * time.Hour)
		if w.count(taskqueue.StateDead) != 1 {
			t.Errorf("the task is %+v", w.task(0))
		}
	})
}

// A slow endpoint does not delay others, and still gets all messages that it can accept.
func TestASlowEndpointDelaysNoOther(t *testing.T) {
	t.Parallel()
	endpoints := []Endpoint{{Game: game, Name: "slow"}, {Game: game, Name: "quick"}}
	run(t, endpoints, func(t *testing.T, w *fixture) {
		w.answer = func(_ context.Context, e Endpoint, _ Message) Reply {
			if e.Name == "slow" {
				time.Sleep(15 * time.Second)
			}
			return Reply{Status: 200}
		}
		const tasks = 400
		w.deliver(t, "slow", numberedMatch("s", tasks)...)
		time.Sleep(20 * time.Second)
		w.deliver(t, "quick", numberedMatch("q", tasks)...)
		time.Sleep(3 * time.Second)
		if n := w.count(taskqueue.StateDone); n < tasks {
			t.Errorf("%d tasks are done, want those of the quick endpoint", n)
		}
		if w.maxConcurrent("slow") != slotsPerEndpoint {
			t.Errorf("%d concurrent attempts, want %d", w.maxConcurrent("slow"), slotsPerEndpoint)
		}
		time.Sleep(tasks / slotsPerEndpoint * 15 * time.Second)
		if n := w.count(taskqueue.StateDone); n < 2*tasks*8/10 {
			t.Errorf("%d of %d tasks are done in the shortest possible time", n, 2*tasks)
		}
		time.Sleep(2 * maxPostpone)
		put, all := 0, numberedMatch("s", tasks)
		for _, key := range all {
			put += len(w.failures(key))
		}
		if w.count(taskqueue.StateDone) != 2*tasks || put > 4*tasks {
			t.Errorf("the slow endpoint had %d postponements of %d tasks, or not all tasks are done", put, tasks)
		}
	})
}

// A fast endpoint gets all messages, and none is postponed.
func TestAFastEndpointGetsAllMessages(t *testing.T) {
	t.Parallel()
	run(t, oneEndpoint(), func(t *testing.T, w *fixture) {
		w.answer = func(context.Context, Endpoint, Message) Reply {
			time.Sleep(10 * time.Millisecond)
			return Reply{Status: 200}
		}
		time.Sleep(2 * time.Second)
		w.deliver(t, "a", numberedMatch("warm", 8)...)
		time.Sleep(2 * time.Second)
		for i := range 20 {
			w.deliver(t, "a", numberedMatch(fmt.Sprint("round", i), 8)...)
			time.Sleep(2 * time.Second)
		}
		w.deliver(t, "a", numberedMatch("e", 400)...)
		time.Sleep(3 * time.Second)
		if n := w.count(taskqueue.StateDone); n != 568 || w.maxConcurrent("a") != slotsPerEndpoint {
			t.Errorf("%d tasks are done, %d concurrent attempts", n, w.maxConcurrent("a"))
		}
		for _, key := range numberedMatch("e", 400) {
			if f := w.failures(key); len(f) > 0 {
				t.Errorf("%s was postponed: %+v", key, f)
			}
		}
	})
}

// Each postponed task returns within a limited time, even if many tasks are postponed.
func TestPostponementsHaveAMaximum(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, w *fixture) {
		p := w.registry.endpoints()[0].throttle
		p.averageDuration = 15 * time.Second
		p.pause(time.Minute)
		for range 10_000 {
			_ = p.postpone(errBusy)
		}
		if limit := time.Until(p.postponedUntil); limit != time.Minute+maxPostpone {
			t.Errorf("the last task is postponed by %s", limit)
		}
	})
}

func numberedMatch(prefix string, n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprint(prefix, i))
	}
	return keys
}
