package ledger

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

const (
	kind  = "work"
	lease = time.Minute
)

// queueFixture is a ledger with an empty queue and a clock that the test sets.
type queueFixture struct {
	clockLedger

	t     *testing.T
	db    testenv.SQL
	now   int64
	mu    sync.Mutex
	woken []string
}

// eachQueue runs a parallel test on both databases, each with an empty queue.
func eachQueue(t *testing.T, f func(t *testing.T, q *queueFixture)) {
	t.Helper()
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		q := &queueFixture{clockLedger: openWithClock(t, db, time.UTC), t: t, db: db, now: 1_000_000}
		q.Tasks.notifyTopic = func(topic string) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.woken = append(q.woken, topic)
		}
		q.setClock(t, q.now)
		f(t, q)
	})
}

func (q *queueFixture) advanceClock(d time.Duration) {
	q.now += d.Milliseconds()
	q.setClock(q.t, q.now)
}

// newTask returns a new task with the topic kind/topic.
func newTask(topic, key string) taskqueue.NewTask {
	return taskqueue.NewTask{Game: game, Topic: kind + "/" + topic, Key: key, Payload: []byte(`{"key":"` + key + `"}`)}
}

func (q *queueFixture) enqueue(tasks ...taskqueue.NewTask) []taskqueue.Accepted {
	q.t.Helper()
	return testenv.Need(q.Tasks.Enqueue(q.t.Context(), tasks))(q.t)
}

func (q *queueFixture) claim(n int) []taskqueue.Task {
	q.t.Helper()
	return testenv.Need(q.Claims.Claim(q.t.Context(), kind, n, lease))(q.t)
}

// claimOne claims tasks, and checks that the only one has the key.
func (q *queueFixture) claimOne(key string) taskqueue.Task {
	q.t.Helper()
	tasks := q.claim(10)
	if got := taskKeys(tasks); !slices.Equal(got, []string{key}) {
		q.t.Fatalf("claimed %q, want %q", got, key)
	}
	return tasks[0]
}

func (q *queueFixture) claimNone(cause string) {
	q.t.Helper()
	if got := taskKeys(q.claim(10)); len(got) > 0 {
		q.t.Fatalf("claimed %q: %s", got, cause)
	}
}

// hasLease reports whether the lease of an ended attempt was still held.
func (q *queueFixture) hasLease(lost []taskqueue.Lease, err error) bool {
	q.t.Helper()
	return len(testenv.Need(lost, err)(q.t)) == 0
}

func (q *queueFixture) complete(tasks ...taskqueue.Task) bool {
	q.t.Helper()
	return q.hasLease(q.Claims.Complete(q.t.Context(), taskLeases(tasks)))
}

func (q *queueFixture) fail(task taskqueue.Task, wait time.Duration, final bool) bool {
	q.t.Helper()
	return q.hasLease(q.Claims.Fail(q.t.Context(), []taskqueue.FailedAttempt{{Lease: task.Lease(), Err: errors.New("why"), Wait: wait, Final: final}}))
}

func (q *queueFixture) change(id string, f func(*taskqueue.Task) error) taskqueue.Task {
	q.t.Helper()
	return testenv.Need(q.Tasks.ChangeTask(q.t.Context(), id, f))(q.t)
}

// maintain does all due maintenance, as the maintainer does.
func (q *queueFixture) maintain() {
	q.t.Helper()
	testenv.Need(q.Maintenance.ReturnDue(q.t.Context(), 1000))(q.t)
	testenv.Need(q.Maintenance.ForgetTasks(q.t.Context(), 1000))(q.t)
}

func (q *queueFixture) readQueue(topic string, priority int64) taskqueue.Queue {
	q.t.Helper()
	queues := q.listQueues(taskqueue.QueueFilter{Topic: kind + "/" + topic})
	at := slices.IndexFunc(queues, func(l taskqueue.Queue) bool { return l.Priority == priority })
	if at < 0 {
		q.t.Fatalf("queue %s %d is not among %+v", topic, priority, queues)
	}
	return queues[at]
}

func (q *queueFixture) listQueues(f taskqueue.QueueFilter) []taskqueue.Queue {
	q.t.Helper()
	return listQueuesOf(q.t, q.Ledger, f)
}

// listQueuesOf returns all queues that a filter selects, read in pages.
func listQueuesOf(t *testing.T, l *Ledger, f taskqueue.QueueFilter) (all []taskqueue.Queue) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := l.Tasks.Queues(t.Context(), f, cursor, 100)
		if err != nil {
			t.Fatal(err)
		}
		if all, cursor = append(all, page...), next; next == "" {
			return all
		}
	}
}

// wantQueue checks the cursors of a queue after all due maintenance.
func (q *queueFixture) wantQueue(topic string, pos, scan, done int64) {
	q.t.Helper()
	q.maintain()
	if l := q.readQueue(topic, 0); l.Pos != pos || l.Scan != scan || l.Done != done {
		q.t.Errorf("queue %s: position %d, scan %d, done %d, want %d, %d, %d", topic, l.Pos, l.Scan, l.Done, pos, scan, done)
	}
}

func (q *queueFixture) wantState(id string, want taskqueue.State) taskqueue.Task {
	q.t.Helper()
	task := testenv.Need(q.Tasks.Task(q.t.Context(), id))(q.t)
	if task.State != want {
		q.t.Errorf("task %s is %s, want %s", task.Key, task.State, want)
	}
	return task
}

// wantDueIn checks when a task is due, and that it does not return before.
func (q *queueFixture) wantDueIn(id string, want time.Duration) {
	q.t.Helper()
	q.maintain()
	if wait := testenv.Need(q.Tasks.Task(q.t.Context(), id))(q.t).DueAt - q.now; wait != want.Milliseconds() {
		q.t.Errorf("task %s is due in %d ms, want %s", id, wait, want)
	}
}

func taskKeys(tasks []taskqueue.Task) (keys []string) {
	for _, t := range tasks {
		keys = append(keys, t.Key)
	}
	return keys
}

// returnTasks returns tasks to their queues, as workers do when their process ends.
func returnTasks(ctx context.Context, claims taskqueue.ClaimStore, leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
	var returned []taskqueue.FailedAttempt
	for _, lease := range leases {
		returned = append(returned, taskqueue.FailedAttempt{Lease: lease, Postponed: true})
	}
	return claims.Fail(ctx, returned)
}

func taskLeases(tasks []taskqueue.Task) (leases []taskqueue.Lease) {
	for _, t := range tasks {
		leases = append(leases, t.Lease())
	}
	return leases
}

func TestATaskIsEnqueuedClaimedAndCompleted(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		first := newTask("a", "k1")
		first.Payload = []byte(`"` + strings.Repeat("ä\\u0000", 6000) + `"`)
		in := q.enqueue(first, newTask("a", "k2"), first)
		if !in[0].New || !in[1].New || in[2].New || in[2].ID != in[0].ID || in[0].State != taskqueue.StateWaiting {
			t.Errorf("accepted %+v", in)
		}
		if want := []string{"work/a"}; !slices.Equal(q.woken, want) {
			t.Errorf("notified topics %q, want %q", q.woken, want)
		}
		q.wantQueue("a", 2, 0, 0)
		tasks := q.claim(10)
		if got := taskKeys(tasks); !slices.Equal(got, []string{"k1", "k2"}) {
			t.Fatalf("claimed %q", got)
		}
		want := taskqueue.Task{
			ID: in[0].ID, Game: game, Topic: "work/a", Key: "k1", State: taskqueue.StateClaimed, Pos: 1, Fence: 1, MaxTries: 20,
			DueAt: q.now + lease.Milliseconds(), CreatedAt: q.now, ChangedAt: q.now, Payload: first.Payload,
		}
		if !reflect.DeepEqual(tasks[0], want) {
			t.Errorf("claimed %+v\nwant    %+v", tasks[0], want)
		}
		q.claimNone("all are claimed")
		q.wantQueue("a", 2, 2, 0)
		if !q.complete(tasks[1]) {
			t.Error("the lease was not held")
		}
		q.wantQueue("a", 2, 2, 0)
		if !q.complete(tasks[0]) || !q.complete(tasks...) {
			t.Error("the lease was not held, or not for a repeated call")
		}
		q.wantQueue("a", 2, 2, 2)
		if again := q.enqueue(first)[0]; again.New || again.ID != in[0].ID || again.State != taskqueue.StateDone {
			t.Errorf("a key that is done is answered with %+v", again)
		}
		q.claimNone("nothing new was enqueued")
		if l := q.readQueue("a", 0); l.Pos != 2 {
			t.Errorf("a known key changed the position to %d", l.Pos)
		}
	})
}

func TestInvalidTasksAreRefused(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		bad := newTask("a", "k")
		bad.Payload = make([]byte, taskqueue.MaxPayloadBytes+1)
		if _, err := q.Tasks.Enqueue(t.Context(), []taskqueue.NewTask{newTask("a", "good"), bad}); !errors.Is(err, taskqueue.ErrBadTask) {
			t.Error(err)
		}
		q.claimNone("one of them was refused")
	})
}

func TestAWorkerWithoutLeaseChangesNothing(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "k"))
		late := q.claimOne("k")
		q.advanceClock(lease / 2)
		if !q.hasLease(q.Claims.Renew(t.Context(), taskLeases([]taskqueue.Task{late}), lease)) {
			t.Error("a lease was not renewed")
		}
		q.advanceClock(lease - time.Millisecond)
		q.maintain()
		q.claimNone("the lease still runs")
		q.advanceClock(time.Millisecond)
		q.wantQueue("a", 2, 1, 1) // the task has left its position and has a new one
		again := q.claimOne("k")
		if again.Fence != 2 || again.Tries != 1 || len(again.Errors) != 1 || again.Pos != 2 {
			t.Errorf("claimed again as %+v", again)
		}
		for name, held := range map[string]bool{
			"complete": q.complete(late), "fail": q.fail(late, 0, true),
			"renew":  q.hasLease(q.Claims.Renew(t.Context(), taskLeases([]taskqueue.Task{late}), lease)),
			"return": q.hasLease(returnTasks(t.Context(), q.Claims, taskLeases([]taskqueue.Task{late}))),
		} {
			if held {
				t.Errorf("%s: the old lease was still held", name)
			}
		}
		if got := testenv.Need(q.Tasks.Task(t.Context(), late.ID))(t); !reflect.DeepEqual(got, again) {
			t.Errorf("the late worker made %+v of %+v", got, again)
		}
		if !q.complete(again) || q.complete(late) {
			t.Error("the newest lease was not held, or the old one was")
		}
	})
}

func TestAFailingTaskDoesNotDelayOthers(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		failing := newTask("a", "bad")
		failing.MaxTries = 2
		id := q.enqueue(failing, newTask("a", "good"))[0].ID
		tasks := q.claim(10)
		if !q.fail(tasks[0], time.Second, false) || !q.complete(tasks[1]) {
			t.Fatal("a lease was not held")
		}
		q.wantState(id, taskqueue.StateLater)
		q.wantQueue("a", 2, 2, 2)
		q.wantDueIn(id, time.Second)
		q.advanceClock(time.Second)
		q.wantQueue("a", 3, 2, 2)
		if !q.fail(q.claimOne("bad"), time.Second, false) {
			t.Fatal("the lease was not held")
		}
		dead := q.wantState(id, taskqueue.StateDead)
		if dead.Tries != 2 || len(dead.Errors) != 2 || dead.Errors[1] != (taskqueue.AttemptError{At: q.now, Error: "why"}) {
			t.Errorf("dead with %+v", dead)
		}
		q.wantQueue("a", 3, 3, 3)
		q.change(id, (*taskqueue.Task).Requeue)
		if again := q.claimOne("bad"); again.Tries != 0 || len(again.Errors) != 2 || !q.complete(again) {
			t.Errorf("requeued as %+v", again)
		}
		q.wantQueue("a", 4, 4, 4)
	})
}

func TestAPermanentFailureIsDeadAndAReturnedTaskWaits(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "k"))
		task := q.claimOne("k")
		if !q.hasLease(returnTasks(t.Context(), q.Claims, taskLeases([]taskqueue.Task{task}))) {
			t.Error("the lease was not held")
		}
		again := q.claimOne("k")
		if again.Tries != 0 || len(again.Errors) != 0 || again.Fence != 2 {
			t.Errorf("returned as %+v", again)
		}
		q.fail(again, time.Second, true)
		q.wantState(task.ID, taskqueue.StateDead)
	})
}

// If workers of a task die, the task becomes dead after its last attempt, like a failing
// one.
func TestATaskWhoseWorkersDieIsDeadInTheEnd(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		deadly := newTask("a", "k")
		deadly.MaxTries = 3
		id := q.enqueue(deadly)[0].ID
		for try, want := range []taskqueue.DueCounts{{Requeued: 1}, {Requeued: 1}, {Dead: 1}} {
			q.claimOne("k")
			q.advanceClock(lease)
			if got := testenv.Need(q.Maintenance.ReturnDue(t.Context(), 10))(t); got != want {
				t.Errorf("after %d tries more than one was due, or less: %+v", try+1, got)
			}
		}
		if task := q.wantState(id, taskqueue.StateDead); len(task.Errors) != 3 || !strings.Contains(task.Errors[2].Error, "lease") {
			t.Errorf("dead with %+v", task.Errors)
		}
	})
}

func TestATaskWaitsUntilNotBefore(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		later, past := newTask("a", "later"), newTask("a", "past")
		later.NotBefore, past.NotBefore = q.now+5000, q.now
		if in := q.enqueue(later, past); in[0].State != taskqueue.StateLater || in[1].State != taskqueue.StateWaiting {
			t.Errorf("accepted %+v", in)
		}
		q.complete(q.claimOne("past"))
		q.wantQueue("a", 1, 1, 1)
		q.advanceClock(5 * time.Second)
		q.woken = nil
		q.wantQueue("a", 2, 1, 1)
		if len(q.woken) != 1 {
			t.Errorf("notified topics %q", q.woken)
		}
		q.claimOne("later")
	})
}

// A due time later than a time.Duration can express is not due now.
func TestAVeryLateDueTimeIsNotDueNow(t *testing.T) {
	eachQueue(t, func(_ *testing.T, q *queueFixture) {
		last := newTask("a", "last")
		last.NotBefore = 253_402_300_799_999 // of the year 9999
		id := q.enqueue(last)[0].ID
		q.maintain()
		q.wantState(id, taskqueue.StateLater)
	})
}

func TestEndedTasksAreDeletedAfterSevenDays(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		ids := q.enqueue(newTask("a", "done"), newTask("a", "discarded"), newTask("a", "waits"))
		q.complete(q.claim(1)...)
		q.change(ids[1].ID, (*taskqueue.Task).Discard)
		q.advanceClock(keyTTL)
		q.maintain()
		q.wantState(ids[0].ID, taskqueue.StateDone)
		q.wantState(ids[1].ID, taskqueue.StateDiscarded)
		q.advanceClock(time.Millisecond)
		q.maintain()
		for _, in := range ids[:2] {
			if _, err := q.Tasks.Task(t.Context(), in.ID); !errors.Is(err, taskqueue.ErrNotFound) {
				t.Error(err)
			}
		}
		q.wantState(ids[2].ID, taskqueue.StateWaiting)
		if again := q.enqueue(newTask("a", "done"))[0]; !again.New || again.ID == ids[0].ID {
			t.Errorf("the outcome of a deleted key is %+v", again)
		}
	})
}

// A waiting task that an operator discards is skipped.
func TestADiscardedWaitingTaskIsSkipped(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		for _, ordering := range []taskqueue.Ordering{taskqueue.Unordered, taskqueue.Ordered} {
			var in []taskqueue.Accepted
			for i := range 5 {
				task := newTask("a"+string(ordering), fmt.Sprint(i))
				task.Ordering = ordering
				in = append(in, q.enqueue(task)...)
			}
			for _, i := range []int{0, 1, 3} {
				q.change(in[i].ID, (*taskqueue.Task).Discard)
			}
			var got []string
			for tasks := q.claim(1); len(tasks) > 0; tasks = q.claim(1) {
				got = append(got, taskKeys(tasks)...)
				q.complete(tasks...)
			}
			if want := []string{"2", "4"}; !slices.Equal(got, want) {
				t.Errorf("claimed %q, want %q", got, want)
			}
			q.wantQueue("a"+string(ordering), 5, 5, 5)
		}
	})
}

// A claimed task that an operator discards has lost its lease.
func TestDiscardingAClaimedTaskEndsTheLease(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "k"))
		task := q.claimOne("k")
		q.change(task.ID, (*taskqueue.Task).Discard)
		if q.complete(task) {
			t.Error("the lease of a discarded task was still held")
		}
		q.wantState(task.ID, taskqueue.StateDiscarded)
		q.wantQueue("a", 1, 1, 1)
	})
}

// Tasks can be enqueued in the caller's own transaction. If that is rolled back, they do
// not exist.
func TestTasksAreEnqueuedInTheCallersTransaction(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		undone := errors.New("undone")
		in := func(end error) error {
			return q.inTx(t.Context(), func(tx *transaction) error {
				if _, err := enqueue(t.Context(), tx, []taskqueue.NewTask{newTask("a", "k")}); err != nil {
					return err
				}
				return end
			})
		}
		if err := in(undone); !errors.Is(err, undone) {
			t.Fatal(err)
		}
		q.claimNone("its transaction was undone")
		testenv.NoError(t, in(nil))
		q.claimOne("k")
	})
}

func TestDepthCountsTasksByState(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "1"), newTask("b", "2"), newTask("c", "3"))
		q.claim(1)
		q.advanceClock(time.Second)
		for state, want := range map[taskqueue.State]int64{taskqueue.StateWaiting: 2, taskqueue.StateClaimed: 1, taskqueue.StateDead: 0} {
			many, oldest, err := q.Maintenance.Depth(context.Background(), state, 2)
			if err != nil || many != want || (oldest == time.Second) != (want > 0) {
				t.Errorf("%s: %d, oldest %s, %v", state, many, oldest, err)
			}
		}
	})
}
