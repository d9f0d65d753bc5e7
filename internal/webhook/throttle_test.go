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
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.setReplies(Reply{Status: 429, RetryAfter: 70 * time.Second, Err: errReply})
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(2 * time.Second)
		env.setReplies(Reply{Status: 200})
		env.enqueueDeliveries(t, "a", "e2")
		time.Sleep(60 * time.Second)
		if f := env.lastFailure(t, "e2"); len(env.posts()) != 1 || !f.Postponed || f.Wait < 60*time.Second || f.Wait > 80*time.Second {
			t.Errorf("%d posts, then %+v", len(env.posts()), f)
		}
		time.Sleep(20 * time.Second)
		if first := env.task(0); env.countTasks(taskqueue.StateDone) != 2 || first.Tries != 1 {
			t.Errorf("tasks %+v, %+v", first, env.task(1))
		}
	})
}

// The first pause of an endpoint that names no duration is 30 s. Later ones grow
// until it accepts a message.
func TestDefaultPausesGrow(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.setReplies(Reply{Status: 503, Err: errReply})
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(time.Hour)
		tries := env.posts()
		for i, minPause := range []time.Duration{minDefaultPause, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, maxDefaultPause, maxDefaultPause} {
			if pause := tries[i+1].sentAt.Sub(tries[i].sentAt); pause < minPause || pause > minPause+5*time.Second {
				t.Errorf("pause %d is %s, want %s", i, pause, minPause)
			}
		}
		env.setReplies(Reply{Status: 200})
		time.Sleep(maxDefaultPause + time.Minute)
		env.setReplies(Reply{Status: 503, Err: errReply})
		env.enqueueDeliveries(t, "a", "e2")
		time.Sleep(2 * time.Second)
		if f := env.lastFailure(t, "e2"); f.Wait < minDefaultPause || f.Wait > minDefaultPause+5*time.Second {
			t.Errorf("after an accepted message, the next failed with %+v", f)
		}
	})
}

// Attempts that end together cause one pause.
func TestConcurrentAttemptsCauseOnePause(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.respond = func(context.Context, Endpoint, Message) Reply {
			time.Sleep(100 * time.Millisecond)
			return Reply{Status: 503, Err: errReply}
		}
		env.enqueueDeliveries(t, "a", numberedKeys("e", slotsPerEndpoint)...)
		time.Sleep(2 * time.Second)
		env.setReplies(Reply{Status: 200})
		time.Sleep(minDefaultPause + 5*time.Second)
		if n := env.countTasks(taskqueue.StateDone); n != slotsPerEndpoint {
			t.Errorf("%d tasks are done", n)
		}
	})
}

// If an endpoint is busy for days, its deliveries use up attempts.
func TestThrottlingForDaysUsesUpAttempts(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.setReplies(Reply{Status: 503, Err: errReply})
		env.enqueueDeliveries(t, "a", "e1")
		time.Sleep(maxThrottledAge - time.Hour)
		if task := env.task(0); task.State != taskqueue.StateLater || task.Tries != 0 {
			t.Errorf("the task is %+v", task)
		}
		time.Sleep(10 * 24 * time.Hour)
		if env.countTasks(taskqueue.StateDead) != 1 {
			t.Errorf("the task is %+v", env.task(0))
		}
	})
}

// A slow endpoint does not delay others, and still gets all messages that it can accept.
func TestASlowEndpointDelaysNoOther(t *testing.T) {
	endpoints := []Endpoint{{Game: game, Name: "slow"}, {Game: game, Name: "quick"}}
	runWithWorkers(t, endpoints, func(t *testing.T, w *fixture) {
		w.respond = func(_ context.Context, e Endpoint, _ Message) Reply {
			if e.Name == "slow" {
				time.Sleep(15 * time.Second)
			}
			return Reply{Status: 200}
		}
		const tasks = 400
		w.enqueueDeliveries(t, "slow", numberedKeys("s", tasks)...)
		time.Sleep(20 * time.Second)
		w.enqueueDeliveries(t, "quick", numberedKeys("q", tasks)...)
		time.Sleep(3 * time.Second)
		if n := w.countTasks(taskqueue.StateDone); n < tasks {
			t.Errorf("%d tasks are done, want those of the quick endpoint", n)
		}
		if w.maxConcurrent("slow") != slotsPerEndpoint {
			t.Errorf("%d concurrent attempts, want %d", w.maxConcurrent("slow"), slotsPerEndpoint)
		}
		time.Sleep(tasks / slotsPerEndpoint * 15 * time.Second)
		if n := w.countTasks(taskqueue.StateDone); n < 2*tasks*8/10 {
			t.Errorf("%d of %d tasks are done in the shortest possible time", n, 2*tasks)
		}
		time.Sleep(2 * maxPostpone)
		postponements, slowKeys := 0, numberedKeys("s", tasks)
		for _, key := range slowKeys {
			postponements += len(w.failures(key))
		}
		if w.countTasks(taskqueue.StateDone) != 2*tasks || postponements > 4*tasks {
			t.Errorf("the slow endpoint had %d postponements of %d tasks, or not all tasks are done", postponements, tasks)
		}
	})
}

// A fast endpoint gets all messages, and none is postponed.
func TestAFastEndpointGetsAllMessages(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.respond = func(context.Context, Endpoint, Message) Reply {
			time.Sleep(10 * time.Millisecond)
			return Reply{Status: 200}
		}
		time.Sleep(2 * time.Second)
		env.enqueueDeliveries(t, "a", numberedKeys("warm", 8)...)
		time.Sleep(2 * time.Second)
		for i := range 20 {
			env.enqueueDeliveries(t, "a", numberedKeys(fmt.Sprint("round", i), 8)...)
			time.Sleep(2 * time.Second)
		}
		env.enqueueDeliveries(t, "a", numberedKeys("e", 400)...)
		time.Sleep(3 * time.Second)
		if n := env.countTasks(taskqueue.StateDone); n != 568 || env.maxConcurrent("a") != slotsPerEndpoint {
			t.Errorf("%d tasks are done, %d concurrent attempts", n, env.maxConcurrent("a"))
		}
		for _, key := range numberedKeys("e", 400) {
			if f := env.failures(key); len(f) > 0 {
				t.Errorf("%s was postponed: %+v", key, f)
			}
		}
	})
}

// Each postponed task returns within a limited time, even if many tasks are postponed.
func TestPostponementsHaveAMaximum(t *testing.T) {
	t.Parallel()
	withFakeTime(t, func(t *testing.T, env *fixture) {
		throttle := env.registry.endpoints()[0].throttle
		throttle.averageDuration = 15 * time.Second
		throttle.pause(time.Minute)
		for range 10_000 {
			_ = throttle.postpone(errBusy)
		}
		if delay := time.Until(throttle.postponedUntil); delay != time.Minute+maxPostpone {
			t.Errorf("the last task is postponed by %s", delay)
		}
	})
}

func numberedKeys(prefix string, count int) (keys []string) {
	for i := range count {
		keys = append(keys, fmt.Sprint(prefix, i))
	}
	return keys
}
