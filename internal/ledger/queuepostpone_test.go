package ledger

import (
	"errors"
	"slices"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

func (q *queueFixture) postpone(task taskqueue.Task, wait time.Duration) bool {
	q.t.Helper()
	return q.hasLease(q.Claims.Fail(q.t.Context(), []taskqueue.FailedAttempt{{Lease: task.Lease(), Err: errors.New("why"), Wait: wait, Postponed: true}}))
}

// wantUntried checks that a task has had no attempt.
func (q *queueFixture) wantUntried(task taskqueue.Task) {
	q.t.Helper()
	if task.Tries != 0 || len(task.Errors) != 0 {
		q.t.Errorf("task %s has %d tries, errors %+v", task.Key, task.Tries, task.Errors)
	}
}

// A postponed task leaves its queue until it is due, like a failed one. It keeps all its
// attempts, however often it is postponed.
func TestAPostponedTaskKeepsItsAttempts(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		late := newTask("a", "late")
		late.MaxTries = 1
		id := q.enqueue(late, newTask("a", "good"))[0].ID
		tasks := q.claim(10)
		if !q.postpone(tasks[0], 30*time.Second) || !q.complete(tasks[1]) {
			t.Fatal("a lease was not held")
		}
		task := q.wantState(id, taskqueue.StateLater)
		q.wantUntried(task)
		if task.DueAt != q.now+30_000 || task.Pos != 0 || task.Fence != 1 {
			t.Errorf("postponed as %+v", task)
		}
		q.wantQueue("a", 2, 2, 2)
		for n := int64(1); n <= 3; n++ {
			q.wantDueIn(id, 30*time.Second)
			q.advanceClock(30*time.Second - time.Millisecond)
			q.maintain()
			q.claimNone("it is not due")
			q.advanceClock(time.Millisecond)
			q.woken = nil
			q.wantQueue("a", 2+n, 1+n, 1+n)
			if !slices.Equal(q.woken, []string{"work/a"}) {
				t.Errorf("notified topics %q when it was due", q.woken)
			}
			again := q.claimOne("late")
			q.wantUntried(again)
			if again.Fence != 1+n || !q.postpone(again, 30*time.Second) {
				t.Errorf("came back as %+v", again)
			}
		}
		q.advanceClock(30 * time.Second)
		q.maintain()
		q.fail(q.claimOne("late"), 0, false) // the try that it has
		if dead := q.wantState(id, taskqueue.StateDead); dead.Tries != 1 || len(dead.Errors) != 1 {
			t.Errorf("dead as %+v", dead)
		}
	})
}

// Postponing ends the lease. A worker whose lease has ended can postpone nothing.
func TestPostponingEndsTheLease(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "k"))
		first := q.claimOne("k")
		q.postpone(first, 0)
		q.wantLost("postponed", first)
		q.maintain()
		second := q.claimOne("k")
		q.wantLost("claimed again", first)
		q.advanceClock(lease)
		q.maintain()
		q.wantLost("expired", second)
		if task := q.wantState(first.ID, taskqueue.StateWaiting); task.Tries != 1 || len(task.Errors) != 1 {
			t.Errorf("of the lease that ran out it knows %+v", task)
		}
		third := q.claimOne("k")
		q.wantLost("claimed once more", second)
		if third.Fence != 3 || !q.complete(third) {
			t.Errorf("the newest lease of %+v did not hold", third)
		}
	})
}

// wantLost checks that a worker with the lease of task can end nothing.
func (q *queueFixture) wantLost(when string, task taskqueue.Task) {
	q.t.Helper()
	was := testenv.Need(q.Tasks.Task(q.t.Context(), task.ID))(q.t)
	for attempt, held := range map[string]bool{
		"postpone": q.postpone(task, time.Hour), "complete": q.complete(task), "fail": q.fail(task, 0, true),
		"renew":  q.hasLease(q.Claims.Renew(q.t.Context(), taskLeases([]taskqueue.Task{task}), lease)),
		"return": q.hasLease(returnTasks(q.t.Context(), q.Claims, taskLeases([]taskqueue.Task{task}))),
	} {
		if held {
			q.t.Errorf("%s: %s: the lease held", when, attempt)
		}
	}
	if now := testenv.Need(q.Tasks.Task(q.t.Context(), task.ID))(q.t); now.State != was.State || now.DueAt != was.DueAt || now.Tries != was.Tries {
		q.t.Errorf("%s: %+v became %+v", when, was, now)
	}
}

// A postponed head of an ordered queue keeps its position, and blocks the others until it
// has ended.
func TestAPostponedHeadKeepsItsPosition(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		for _, ordering := range []taskqueue.Ordering{taskqueue.Ordered, taskqueue.OrderedPausing} {
			topic := string(ordering)
			for _, key := range []string{"1", "2"} {
				n := orderedTask(ordering, key, 1)
				n.Topic = kind + "/" + topic
				q.enqueue(n)
			}
			head := q.claimOne("1")
			for n := int64(1); n <= 3; n++ {
				q.postpone(head, time.Second)
				q.claimNone("the head is to be tried first")
				q.wantQueue(topic, 2, 1, 0)
				q.advanceClock(time.Second)
				q.woken = nil
				q.wantQueue(topic, 2, 0, 0)
				if !slices.Equal(q.woken, []string{kind + "/" + topic}) {
					t.Errorf("notified topics %q when the head was due", q.woken)
				}
				head = q.claimOne("1")
				q.wantUntried(head)
				if head.Pos != 1 || head.Fence != 1+n {
					t.Errorf("the head came back as %+v", head)
				}
			}
			q.complete(head)
			q.wantQueue(topic, 2, 1, 1)
			q.complete(q.claimOne("2"))
			q.wantQueue(topic, 2, 2, 2)
		}
	})
}

// An operator can change a postponed task like any task that waits for its due time.
func TestAnOperatorCanChangeAPostponedTask(t *testing.T) {
	eachQueue(t, func(_ *testing.T, q *queueFixture) {
		q.enqueue(orderedTask(taskqueue.Ordered, "1", 1), orderedTask(taskqueue.Ordered, "2", 1))
		head := q.claimOne("1")
		q.postpone(head, time.Hour)
		q.change(head.ID, (*taskqueue.Task).Requeue)
		head = q.claimOne("1")
		q.postpone(head, time.Hour)
		q.change(head.ID, (*taskqueue.Task).Discard)
		q.complete(q.claimOne("2"))
		q.wantQueue("a", 2, 2, 2)
		q.advanceClock(time.Hour)
		q.maintain()
		q.claimNone("the other one was discarded")
	})
}

// One call can end attempts in different ways.
func TestOneCallEndsAttemptsDifferently(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "postponed"), newTask("a", "final"), newTask("a", "failed"))
		tasks, cause := q.claim(3), errors.New("why")
		lost := testenv.Need(q.Claims.Fail(t.Context(), []taskqueue.FailedAttempt{
			{Lease: tasks[2].Lease(), Err: cause, Wait: time.Second},
			{Lease: tasks[0].Lease(), Err: cause, Wait: time.Minute, Postponed: true},
			{Lease: tasks[1].Lease(), Err: cause, Final: true},
		}))(t)
		if len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
		for i, want := range []struct {
			state      taskqueue.State
			tries, due int64
		}{{taskqueue.StateLater, 0, q.now + 60_000}, {taskqueue.StateDead, 1, 0}, {taskqueue.StateLater, 1, q.now + 1000}} {
			task := q.wantState(tasks[i].ID, want.state)
			if task.Tries != want.tries || len(task.Errors) != int(want.tries) || task.DueAt != want.due {
				t.Errorf("%s: %+v", task.Key, task)
			}
		}
	})
}
