package ledger

import (
	"errors"
	"slices"
	"testing"

	"laststand/internal/taskqueue"
)

// GameTasks returns those of the tasks that belong to the game, each once.
func TestGameTasksReturnsOnlyTasksOfTheGame(t *testing.T) {
	t.Parallel()
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		other := newTask("a", "theirs")
		other.Game = "other"
		accepted := q.enqueue(newTask("a", "mine"), newTask("b", "mine2"), other)
		ids := []string{"nobody's"}
		for _, a := range accepted {
			ids = append(ids, a.ID, a.ID)
		}
		tasks := must(q.Tasks.GameTasks(t.Context(), game, ids))(t)
		if got := taskKeys(tasks); len(got) != 2 || !slices.Contains(got, "mine") || !slices.Contains(got, "mine2") || tasks[0].Payload != nil {
			t.Errorf("%q, %+v", got, tasks)
		}
		if tasks := must(q.Tasks.GameTasks(t.Context(), game, ids[:1]))(t); len(tasks) > 0 {
			t.Errorf("nobody's id gives %q", taskKeys(tasks))
		}
		for _, n := range []int{0, MaxNames + 1} {
			if _, err := q.Tasks.GameTasks(t.Context(), game, make([]string, n)); err == nil {
				t.Errorf("%d ids are taken", n)
			}
		}
	})
}

// Any text may be requested. A text that cannot be an id matches no task.
func TestATextThatIsNoIDMatchesNoTask(t *testing.T) {
	t.Parallel()
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		for _, id := range []string{"", "\x00", "\xff", "a b"} {
			if _, err := q.Tasks.Task(t.Context(), id); !errors.Is(err, taskqueue.ErrNotFound) {
				t.Errorf("task %q: %v", id, err)
			}
			if tasks, err := q.Tasks.GameTasks(t.Context(), game, []string{id}); err != nil || len(tasks) > 0 {
				t.Errorf("tasks of %q: %d, %v", id, len(tasks), err)
			}
		}
	})
}

var _ taskqueue.TenantStore = (*TaskStore)(nil)
