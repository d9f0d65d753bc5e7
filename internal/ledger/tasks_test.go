package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// deadTask returns a dead task with one failed attempt.
func deadTask(t testing.TB, key string) taskqueue.Task {
	t.Helper()
	task := taskqueue.Task{Game: game, Topic: taskqueue.SettleTopic, Key: key, Payload: []byte(`{"match":"` + key + `"}`)}
	testenv.NoError(t, task.Fail(7, errors.New("no good \x00")))
	return task
}

func TestTasksAreAddedReadAndChanged(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		added := deadTask(t, "m1")
		if !testenv.Need(l.Tasks.AddTask(t.Context(), added))(t) {
			t.Error("a new key was there")
		}
		again := added
		again.Payload = []byte(`"other"`)
		if testenv.Need(l.Tasks.AddTask(t.Context(), again))(t) {
			t.Error("a key was added twice")
		}
		page, next, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, "", 10)
		if err != nil || len(page) != 1 || next != "" || page[0].Payload != nil {
			t.Fatalf("listed %+v, %q, %v", page, next, err)
		}
		got := testenv.Need(l.Tasks.Task(t.Context(), page[0].ID))(t)
		want := added
		want.ID, want.CreatedAt, want.ChangedAt = got.ID, got.CreatedAt, got.ChangedAt
		if !reflect.DeepEqual(got, want) || got.CreatedAt == 0 || got.ChangedAt == 0 {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		done := testenv.Need(l.Tasks.ChangeTask(t.Context(), got.ID, func(task *taskqueue.Task) error {
			task.Finish([]byte("2"))
			return nil
		}))(t)
		if kept := testenv.Need(l.Tasks.Task(t.Context(), got.ID))(t); !reflect.DeepEqual(kept, done) || kept.State != taskqueue.StateDone || kept.Tries != 2 {
			t.Errorf("changed to %+v, kept %+v", done, kept)
		}
		if testenv.Need(l.Tasks.AddTask(t.Context(), again))(t) {
			t.Error("the key of a done task was added again")
		}
	})
}

func TestAnUnknownTaskIsNotFound(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		if _, err := l.Tasks.Task(t.Context(), "x"); !errors.Is(err, taskqueue.ErrNotFound) {
			t.Error(err)
		}
		if _, err := l.Tasks.ChangeTask(t.Context(), "x", func(*taskqueue.Task) error { return nil }); !errors.Is(err, taskqueue.ErrNotFound) {
			t.Error(err)
		}
		for _, cursor := range []string{"?", "a b"} {
			if _, _, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, cursor, 1); !errors.Is(err, taskqueue.ErrBadCursor) {
				t.Errorf("cursor %q: %v", cursor, err)
			}
		}
	})
}

func TestARefusedChangeOfATaskChangesNothing(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		testenv.Need(l.Tasks.AddTask(t.Context(), deadTask(t, "m1")))(t)
		page, _, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		before := testenv.Need(l.Tasks.Task(t.Context(), page[0].ID))(t)
		_, err = l.Tasks.ChangeTask(t.Context(), before.ID, func(task *taskqueue.Task) error {
			task.Finish(nil)
			return taskqueue.ErrDone
		})
		if after := testenv.Need(l.Tasks.Task(t.Context(), before.ID))(t); !errors.Is(err, taskqueue.ErrDone) || !reflect.DeepEqual(after, before) {
			t.Errorf("%v: %+v became %+v", err, before, after)
		}
	})
}

// Several processes change a task at the same time. No change is lost.
func TestConcurrentChangesOfATaskAreAllApplied(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		processes := []*Ledger{openLedger(t, db), openLedger(t, db)}
		testenv.Need(processes[0].Tasks.AddTask(t.Context(), deadTask(t, "m1")))(t)
		page, _, err := processes[0].Tasks.Tasks(t.Context(), taskqueue.Filter{}, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		runConcurrently(10, func(i int) {
			_, err := processes[i%2].Tasks.ChangeTask(t.Context(), page[0].ID, func(task *taskqueue.Task) error {
				return task.Fail(int64(i), errors.New("again"))
			})
			if err != nil {
				t.Error(err)
			}
		})
		if task := testenv.Need(processes[0].Tasks.Task(t.Context(), page[0].ID))(t); task.Tries != 11 {
			t.Errorf("%d tries after 11", task.Tries)
		}
	})
}

func TestTasksAreFilteredAndListedInPages(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for i := range 7 {
			task := deadTask(t, fmt.Sprint("m", i))
			if i%2 == 1 {
				task.State, task.Game = taskqueue.StateDiscarded, "other"
			}
			testenv.Need(l.Tasks.AddTask(t.Context(), task))(t)
		}
		for _, tt := range []struct {
			filter taskqueue.Filter
			want   int
		}{
			{taskqueue.Filter{}, 7},
			{taskqueue.Filter{OldestFirst: true}, 7},
			{taskqueue.Filter{State: taskqueue.StateDead}, 4},
			{taskqueue.Filter{State: taskqueue.StateDead, OldestFirst: true}, 4},
			{taskqueue.Filter{State: taskqueue.StateDiscarded, OldestFirst: true}, 3},
			{taskqueue.Filter{Game: "other", State: taskqueue.StateDiscarded}, 3},
			{taskqueue.Filter{Game: "other", State: taskqueue.StateDead}, 0},
			{taskqueue.Filter{Topic: taskqueue.SettleTopic, Key: "m3"}, 1},
			{taskqueue.Filter{Topic: "another"}, 0},
		} {
			seen := map[string]bool{}
			cursor, last := "", ""
			for {
				page, next, err := l.Tasks.Tasks(t.Context(), tt.filter, cursor, 2)
				if err != nil {
					t.Fatal(err)
				}
				for _, task := range page {
					if seen[task.Key] || last != "" && (task.ID > last) != tt.filter.OldestFirst {
						t.Errorf("%+v: %s twice or out of order", tt.filter, task.Key)
					}
					seen[task.Key], last = true, task.ID
				}
				if cursor = next; next == "" {
					break
				}
			}
			if len(seen) != tt.want {
				t.Errorf("%+v chose %v, want %d", tt.filter, seen, tt.want)
			}
		}
	})
}
