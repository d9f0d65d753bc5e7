package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// topicNames returns topics and priorities of queues, in their order.
func topicNames(queues []taskqueue.Queue) (all []string) {
	for _, l := range queues {
		all = append(all, fmt.Sprintf("%s %d", l.Topic, l.Priority))
	}
	return all
}

// addSomeTasks adds a queue of each sort: idle, with a waiting task, with a claimed task, and one
// of another kind.
func (q *queueFixture) addSomeTasks() {
	q.t.Helper()
	q.enqueue(newTask("idle", "1"))
	q.complete(q.claimOne("1"))
	q.enqueue(newTask("out", "2"))
	q.claimOne("2")
	urgent := newTask("waits", "4")
	urgent.Priority = 7
	other := taskqueue.NewTask{Game: game, Topic: "other", Key: "5", Payload: []byte("1")}
	q.enqueue(newTask("waits", "3"), urgent, other)
	q.maintain()
}

func TestQueuesAreFiltered(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.addSomeTasks()
		for _, tt := range []struct {
			filter taskqueue.QueueFilter
			want   []string
		}{
			{taskqueue.QueueFilter{}, []string{"other 0", "work/idle 0", "work/out 0", "work/waits 0", "work/waits 7"}},
			{taskqueue.QueueFilter{Busy: true}, []string{"other 0", "work/out 0", "work/waits 0", "work/waits 7"}},
			{taskqueue.QueueFilter{Kind: kind, Busy: true}, []string{"work/out 0", "work/waits 0", "work/waits 7"}},
			{taskqueue.QueueFilter{Topic: "work/waits"}, []string{"work/waits 0", "work/waits 7"}},
			{taskqueue.QueueFilter{Kind: "other", Topic: "work/waits"}, nil},
		} {
			if got := topicNames(q.listQueues(tt.filter)); !slices.Equal(got, tt.want) {
				t.Errorf("%+v: %q, want %q", tt.filter, got, tt.want)
			}
		}
		want := taskqueue.Queue{QueueID: taskqueue.QueueID{Topic: "work/out"}, Pos: 1, Scan: 1}
		if got := q.readQueue("out", 0); got.QueueID != want.QueueID || got.Pos != want.Pos || got.Scan != want.Scan || got.Done != want.Done {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// A task that leaves its queue before it was delivered does not count as done.
func TestDoneDoesNotPassScan(t *testing.T) {
	eachQueue(t, func(_ *testing.T, q *queueFixture) {
		accepted := q.enqueue(newTask("a", "1"), newTask("a", "2"))
		q.change(accepted[0].ID, (*taskqueue.Task).Discard)
		q.wantQueue("a", 2, 0, 0)
	})
}

func TestQueuesAreListedInPages(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.addSomeTasks()
		var got []string
		cursor := ""
		for pages := 1; ; pages++ {
			page, next, err := q.Tasks.Queues(t.Context(), taskqueue.QueueFilter{}, cursor, 2)
			if err != nil || len(page) > 2 {
				t.Fatalf("%d lines, %v", len(page), err)
			}
			q.enqueue(newTask("a", fmt.Sprint("late", pages))) // before or after the cursor
			if got, cursor = append(got, topicNames(page)...), next; next == "" {
				break
			}
		}
		if want := []string{"other 0", "work/idle 0", "work/out 0", "work/waits 0", "work/waits 7"}; !slices.Equal(slices.DeleteFunc(got, func(s string) bool { return s == "work/a 0" }), want) {
			t.Errorf("%q, want %q", got, want)
		}
		for _, bad := range []string{"x", "eA", newCursor(0, "t") + "="} {
			if _, _, err := q.Tasks.Queues(t.Context(), taskqueue.QueueFilter{}, bad, 2); !errors.Is(err, taskqueue.ErrBadCursor) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	})
}

// Waiting tasks are counted by kind, also those behind a head, in up to maxQueues queues.
func TestBacklogsCountWaitingTasksByKind(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.addSomeTasks()
		q.enqueue(orderedTask(taskqueue.Ordered, "6", 3), orderedTask(taskqueue.Ordered, "7", 3), orderedTask(taskqueue.Ordered, "8", 3))
		for name, tt := range map[string]struct {
			kinds, upTo int
			want        []taskqueue.Backlog
		}{
			"all":        {10, 100, []taskqueue.Backlog{{Kind: "other", Ready: 1, Tasks: 1}, {Kind: kind, Ready: 3, Tasks: 5}}},
			"one kind":   {1, 100, []taskqueue.Backlog{{Kind: "other", Ready: 1, Tasks: 1}}},
			"some lines": {10, 2, nil},
		} {
			got := testenv.Need(q.Maintenance.Backlogs(t.Context(), tt.kinds, tt.upTo))(t)
			if tt.want == nil {
				if len(got) != 2 || got[1].Ready != 2 {
					t.Errorf("%s: %+v", name, got)
				}
				continue
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %+v, want %+v", name, got, tt.want)
			}
		}
		for more := true; more; {
			more = len(q.claim(10)) > 0
		}
		if got := testenv.Need(q.Maintenance.Backlogs(t.Context(), 10, 100))(t); !slices.Equal(got, []taskqueue.Backlog{{Kind: "other", Ready: 1, Tasks: 1}, {Kind: kind, Tasks: 2}}) {
			t.Errorf("behind a head: %+v", got)
		}
	})
}

func TestBacklogsOfAnEmptyLedger(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		if got := testenv.Need(q.Maintenance.Backlogs(t.Context(), 10, 10))(t); len(got) > 0 {
			t.Errorf("%+v", got)
		}
	})
}
