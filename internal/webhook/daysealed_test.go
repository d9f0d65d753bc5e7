package webhook

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

const sealedBody = `{"type":"day.sealed","timestamp":"2026-11-18T11:06:40.123Z","data":{"game":"com.example.quiz","date":"2026-11-17","boards":[` +
	`{"kind":"player","order":"value","total":5,"entries":[{"rank":1,"id":"player2026-11-17","nickname":"Ada","value":100,"score":7,"time_ms":6,"matches":1,"asked":3,"answered":2,"correct":1,"accuracy":0.3333}]},` +
	`{"kind":"team","order":"value","total":5,"entries":[{"rank":1,"id":"team2026-11-17","nickname":"Ada","value":100,"score":7,"time_ms":6,"matches":1,"asked":3,"answered":2,"correct":1,"accuracy":0.3333}]}]}}`

// enqueueSealTask enqueues the task of a sealed day.
func (f *fixture) enqueueSealTask(t *testing.T) {
	t.Helper()
	testenv.Need(f.Enqueue(t.Context(), f.registry.TasksForEndedDay(game, "2026-11-17", eventTime)))(t)
}

func TestASealedDayEnqueuesDeliveries(t *testing.T) {
	endpoints := []Endpoint{{Game: game, Name: "a"}, {Game: game, Name: "b"}, {Game: game, Name: "c", Events: []string{ArenaOver}}}
	runWithWorkers(t, endpoints, func(t *testing.T, w *fixture) {
		w.enqueueSealTask(t)
		time.Sleep(5 * time.Second)
		posts := w.posts()
		if w.countTasks(taskqueue.StateDone) != 3 || len(posts) != 2 || posts[0].ID != posts[1].ID {
			t.Fatalf("posted %+v", posts)
		}
		if got := string(posts[0].Body); got != sealedBody {
			t.Errorf("posted\n%s, want\n%s", got, sealedBody)
		}
		sameDay := taskqueue.Task{Game: game, Topic: "seal/" + game, Key: "2026-11-17", Payload: []byte(`{"at":1}`)}
		if err := w.dispatcher.enqueueSealedDay(t.Context(), sameDay); err != nil || len(w.tasks) != 3 {
			t.Errorf("sealed again: %v, %d tasks", err, len(w.tasks))
		}
	})
}

// The dispatcher retries the read of the top lists until it succeeds.
func TestSealingWaitsForTheTopLists(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.setUnavailable(true)
		env.enqueueSealTask(t)
		time.Sleep(3 * time.Second)
		if f := env.lastFailure(t, "2026-11-17"); f.Final || f.Postponed || !errors.Is(f.Err, errUnavailable) {
			t.Errorf("the task failed with %+v", f)
		}
		env.setUnavailable(false)
		time.Sleep(20 * time.Minute)
		if env.countTasks(taskqueue.StateDone) != 2 || len(env.posts()) != 1 {
			t.Errorf("the task is %+v", env.task(0))
		}
	})
}

// A node with an older or newer configuration than the node that sealed the day
// leaves the task to other nodes for a while.
func TestSealingIsLeftToNodesWithTheEndpoint(t *testing.T) {
	endpoints := []Endpoint{{Game: game, Name: "a", Events: []string{MatchSettled}}}
	runWithWorkers(t, endpoints, func(t *testing.T, w *fixture) {
		otherRegistry := testenv.Need(NewRegistry(oneEndpoint(), nil))(t)
		testenv.Need(w.Enqueue(t.Context(), otherRegistry.TasksForEndedDay(game, "2026-11-17", eventTime)))(t)
		time.Sleep(configRollout / 2)
		if f := w.lastFailure(t, "2026-11-17"); !f.Postponed || w.countTasks(taskqueue.StateDone) > 0 {
			t.Errorf("before configRollout has passed: %+v, %+v", f, w.task(0))
		}
		time.Sleep(configRollout)
		if w.countTasks(taskqueue.StateDone) != 1 {
			t.Errorf("after configRollout: %+v", w.task(0))
		}
	})
}

func TestSealingReachesEndpointsThatAnotherNodeEnabled(t *testing.T) {
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		env.enableElsewhere(t, "a")
		env.enqueueSealTask(t)
		time.Sleep(time.Second)
		if len(env.posts()) != 1 {
			t.Errorf("the tasks are %d, %d of them done", len(env.tasks), env.countTasks(taskqueue.StateDone))
		}
	})
}

func TestASealedDayWithoutSubscribersEnqueuesNothing(t *testing.T) {
	withFakeTime(t, func(t *testing.T, env *fixture) {
		task := taskqueue.Task{Game: "other", Topic: "seal/other", Key: "2026-11-17", Payload: []byte(`{"at":1}`)}
		if err := env.dispatcher.enqueueSealedDay(t.Context(), task); err != nil || len(env.tasks) > 0 {
			t.Errorf("a game without subscribers: %v, %d tasks", err, len(env.tasks))
		}
		_, _ = env.dispatcher.Disable(t.Context(), game, "a", "")
		task.Game = game
		if err := env.dispatcher.enqueueSealedDay(t.Context(), task); err != nil || len(env.tasks) > 0 || testutil.ToFloat64(env.registry.metrics.drops) != 1 {
			t.Errorf("the only subscriber is disabled: %v, %d tasks", err, len(env.tasks))
		}
	})
	runWithWorkers(t, oneEndpoint(), func(t *testing.T, env *fixture) {
		testenv.Need(env.Enqueue(t.Context(), []taskqueue.NewTask{{Game: game, Topic: "seal/" + game, Key: "2026-11-17", Payload: []byte(`[]`)}}))(t)
		time.Sleep(2 * time.Second)
		if f := env.lastFailure(t, "2026-11-17"); !f.Final {
			t.Errorf("the task failed with %+v", f)
		}
	})
}
