package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

func TestEndpointsAreDisabledAndEnabled(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.setClock(t, 1000)
		l.disable(t, "g", "b", "it is gone")
		l.setClock(t, 2000)
		l.disable(t, "g", "b", "another reason")
		l.disable(t, "g", "a", "no more")
		l.disable(t, "f", "b", "never")
		l.checkStates(t,
			webhook.State{Game: "f", Name: "b", Disabled: "never", Since: 2000}, webhook.State{Game: "g", Name: "a", Disabled: "no more", Since: 2000},
			webhook.State{Game: "g", Name: "b", Disabled: "it is gone", Since: 1000})
		for range 2 {
			testenv.NoError(t, l.Endpoints.EnableEndpoint(t.Context(), "g", "b"))
		}
		l.setClock(t, 3000)
		l.disable(t, "f", "a", "again")
		l.checkStates(t,
			webhook.State{Game: "f", Name: "a", Disabled: "again", Since: 3000}, webhook.State{Game: "f", Name: "b", Disabled: "never", Since: 2000},
			webhook.State{Game: "g", Name: "a", Disabled: "no more", Since: 2000})
	})
}

func (c clockLedger) disable(t *testing.T, game, name, cause string) {
	t.Helper()
	testenv.NoError(t, c.Endpoints.DisableEndpoint(t.Context(), game, name, cause))
}

func (c clockLedger) checkStates(t *testing.T, want ...webhook.State) {
	t.Helper()
	if got := testenv.Need(c.Endpoints.EndpointStates(t.Context()))(t); !slices.Equal(got, want) {
		t.Errorf("states %+v, want %+v", got, want)
	}
}

// Tasks of every state count until they have ended.
func TestCountTasksCountsTasksThatHaveNotEnded(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		for i := range 6 {
			q.enqueue(newTask("a", fmt.Sprint(i)))
		}
		q.enqueue(newTask("b", "0"))
		delayed := newTask("a", "delayed")
		delayed.NotBefore = q.now + 1000
		q.enqueue(delayed)
		q.checkCounts(100, 7, 0)

		ids := map[string]string{}
		for _, task := range q.claim(10) {
			ids[task.Topic+task.Key] = task.ID
		}
		change := func(key string, f func(*taskqueue.Task) error) {
			testenv.Need(q.Tasks.ChangeTask(t.Context(), ids["work/a"+key], f))(t)
		}
		change("0", (*taskqueue.Task).Discard)
		die := func(task *taskqueue.Task) error { return task.Fail(q.now, errors.New("why")) }
		change("1", die)
		change("2", die)
		change("3", func(task *taskqueue.Task) error { task.Postpone(q.now, time.Hour); return nil })
		change("4", func(task *taskqueue.Task) error { task.Finish(task.Payload); return nil })
		q.checkCounts(100, 3, 2) // the one still claimed, the postponed and the delayed one
		q.checkCounts(2, 2, 2)
		q.checkCounts(1, 1, 1)
	})
}

func (q *queueFixture) checkCounts(upTo int, waiting, dead int64) {
	q.t.Helper()
	w, d, err := q.Tasks.CountTasks(q.t.Context(), "work/a", upTo)
	if err != nil || w != waiting || d != dead {
		q.t.Errorf("counted up to %d: %d wait, %d are dead, %v; want %d and %d", upTo, w, d, err, waiting, dead)
	}
}

// There are many more ended tasks than waiting ones. CountTasks does not read ended ones.
func TestCountTasksDoesNotReadEndedTasks(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		plan := openLedger(t, db).explain(t, selectCounts, []any{"t", 10})
		if strings.Count(plan, "tasks_place") != 1 || strings.Count(plan, "tasks_later_or_dead") != 2 || strings.Contains(plan, "tasks_key") {
			t.Errorf("the plan is\n%s", plan)
		}
	})
}
