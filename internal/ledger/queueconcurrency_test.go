package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

const concurrentAttempts = 8 // how often each test runs two concurrent calls

// A lease ends while its attempt ends. Then the task is done, or it is delivered again
// and the old lease is lost.
func TestALeaseThatEndsDuringCompleteHasOneOutcome(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		l := q.openSecond()
		for i := range concurrentAttempts {
			first, second := fmt.Sprint(i, "-1"), fmt.Sprint(i, "-2")
			q.enqueue(orderedTask(taskqueue.Ordered, first, 3), orderedTask(taskqueue.Ordered, second, 3))
			head := q.claimOne(first)
			q.advanceClock(lease)
			var lost []taskqueue.Lease
			var errs [3]error
			runConcurrently(3, func(i int) {
				switch i {
				case 0:
					_, errs[0] = l.Maintenance.ReturnDue(t.Context(), 10)
				case 1:
					lost, errs[1] = q.Claims.Complete(t.Context(), taskLeases([]taskqueue.Task{head}))
				case 2:
					_, errs[2] = q.Tasks.ChangeTask(t.Context(), head.ID, (*taskqueue.Task).Requeue)
				}
			})
			if err := errors.Join(errs[0], errs[1]); err != nil || errs[2] != nil && !errors.Is(errs[2], taskqueue.ErrDone) {
				t.Fatal(errs)
			}
			if len(lost) > 0 {
				again := q.claimOne(first)
				if again.Fence != 2 || again.Tries != 1 || q.complete(head) || !q.complete(again) {
					t.Fatalf("handed out again as %+v", again)
				}
			}
			q.wantState(head.ID, taskqueue.StateDone)
			q.complete(q.claimOne(second))
		}
		q.wantQueue("a", 2*concurrentAttempts, 2*concurrentAttempts, 2*concurrentAttempts)
	})
}

// An operator changes a task while an attempt ends. Either the attempt is lost, or the
// operator's change comes too late.
func TestAnOperatorsChangeDuringAnAttemptHasOneOutcome(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		l := q.openSecond()
		for i := range concurrentAttempts {
			q.enqueue(newTask("a", fmt.Sprint(i)))
			task := q.claimOne(fmt.Sprint(i))
			var lost []taskqueue.Lease
			var completed, changed error
			runConcurrently(2, func(i int) {
				if i == 0 {
					lost, completed = l.Claims.Complete(t.Context(), taskLeases([]taskqueue.Task{task}))
					return
				}
				for _, change := range []func(*taskqueue.Task) error{(*taskqueue.Task).Requeue, (*taskqueue.Task).Discard, (*taskqueue.Task).Requeue} {
					_, err := q.Tasks.ChangeTask(t.Context(), task.ID, change)
					changed = errors.Join(changed, err)
				}
			})
			if completed != nil || errors.Is(changed, taskqueue.ErrDone) != (len(lost) == 0) {
				t.Fatalf("lost %v, %v; the operator was told %v", lost, completed, changed)
			}
			if len(lost) > 0 {
				again := q.claimOne(fmt.Sprint(i))
				if again.Fence != 2 || q.complete(task) || !q.complete(again) {
					t.Fatalf("handed out again as %+v", again)
				}
			}
			q.wantState(task.ID, taskqueue.StateDone)
		}
	})
}

// If a key is enqueued while it is being deleted, the outcome is the old task, or a new
// one that will run.
func TestAKeyDeletedWhileEnqueuedHasATask(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		l := q.openSecond()
		for range concurrentAttempts {
			was := q.enqueue(newTask("a", "k"))[0]
			q.complete(q.claimOne("k"))
			q.advanceClock(keyTTL + time.Millisecond)
			var in [2]taskqueue.Accepted
			runConcurrently(3, func(i int) {
				if i == 2 {
					if _, err := l.Maintenance.ForgetTasks(t.Context(), 10); err != nil {
						t.Error(err)
					}
					return
				}
				accepted, err := []*Ledger{q.Ledger, l}[i].Tasks.Enqueue(t.Context(), []taskqueue.NewTask{newTask("a", "k")})
				if err != nil {
					t.Error(err)
					return
				}
				in[i] = accepted[0]
			})
			for _, a := range in {
				if a.ID == was.ID {
					if a.New || a.State != taskqueue.StateDone {
						t.Errorf("the task that was is %+v", a)
					}
					continue
				}
				q.wantState(a.ID, taskqueue.StateWaiting)
			}
			if in[0].New && in[1].New {
				t.Error("a key was taken twice")
			}
			q.complete(q.claim(1)...)
			q.advanceClock(keyTTL + time.Millisecond)
			q.maintain()
		}
	})
}

// A key that was neither inserted nor found is not acknowledged, whatever the reason is.
func TestAKeyWithoutTaskIsNotAcknowledged(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		swallow := []string{"CREATE TRIGGER swallow BEFORE INSERT ON tasks BEGIN SELECT RAISE(IGNORE); END"}
		if q.db.URL != "" {
			swallow = []string{
				"CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
				"CREATE TRIGGER swallow BEFORE INSERT ON tasks FOR EACH ROW EXECUTE FUNCTION swallow()",
			}
		}
		for _, text := range swallow {
			testenv.Need(q.exec(t.Context(), text))(t)
		}
		if in, err := q.Tasks.Enqueue(t.Context(), []taskqueue.NewTask{newTask("a", "k")}); !IsUnavailable(err) {
			t.Errorf("acknowledged %+v, %v", in, err)
		}
		if added, err := q.Tasks.AddTask(t.Context(), taskqueue.Task{Topic: taskqueue.SettleTopic, Key: "k", State: taskqueue.StateDead, Payload: []byte("1")}); !IsUnavailable(err) {
			t.Errorf("added %v, %v", added, err)
		}
	})
}

// If the database's clock jumps, leases end too early or too late, and no task is lost. A
// worker that renews its leases holds them again. An operator can return a task whose due
// time is wrong.
func TestClockJumpsLoseNoTask(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "held"), newTask("a", "dropped"), newTask("a", "failed"))
		early := q.claim(10)
		q.advanceClock(24 * time.Hour)
		q.maintain()
		tasks := q.claim(10)
		if got := taskKeys(tasks); !slices.Equal(got, []string{"held", "dropped", "failed"}) || q.complete(early[0]) {
			t.Fatalf("claimed %q after the jump", got)
		}
		q.fail(tasks[2], time.Minute, false)
		q.advanceClock(-24 * time.Hour)
		q.maintain()
		q.claimNone("nothing is due by the clock as it is")
		if again := q.enqueue(newTask("a", "held"))[0]; again.New || again.ID != tasks[0].ID {
			t.Errorf("a key is answered with %+v", again)
		}
		q.hasLease(q.Claims.Renew(t.Context(), taskLeases(tasks[:1]), lease))
		q.wantDueIn(tasks[0].ID, lease)
		if !q.complete(tasks[0]) {
			t.Error("the lease was not held")
		}
		q.change(tasks[1].ID, (*taskqueue.Task).Discard)
		q.change(tasks[1].ID, (*taskqueue.Task).Requeue)
		q.change(tasks[2].ID, (*taskqueue.Task).Requeue)
		if got := taskKeys(q.claim(10)); !slices.Equal(got, []string{"dropped", "failed"}) {
			t.Errorf("claimed %q", got)
		}
	})
}

// Two processes return due tasks. The second has locked a task that the first has returned since the
// second began. A claim has locked the queue and waits for that task. If the second then waited for
// the queue, the database would have to end one of the two.
func TestProcessesThatReturnDueTasksDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db, ctx := testenv.Database(t), t.Context()
	l := openLedger(t, db)
	testenv.Need(l.exec(ctx, "CREATE SEQUENCE clock_reads"))(t)
	testenv.Need(l.exec(ctx, `CREATE FUNCTION gated_clock() RETURNS BIGINT LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_advisory_xact_lock(nextval(''clock_reads'')); RETURN 9000000000000; END'`))(t)
	first, second := openConfig(t, Config{URL: db.URL, clockSQL: "9000000000000"}), openConfig(t, Config{URL: db.URL, clockSQL: "gated_clock()"})
	testenv.Need(l.Tasks.Enqueue(ctx, []taskqueue.NewTask{newTask("a", "1"), newTask("a", "2")}))(t)
	for range 2 {
		testenv.Need(l.Claims.Claim(ctx, kind, 1, time.Millisecond))(t)
	}
	gates := testenv.Need(l.writePool.Conn(ctx))(t)
	defer gates.Close()
	const beforeFirstTask, beforeSecondTask = 1, 3 // reads of the clock
	testenv.Need(gates.ExecContext(ctx, "SELECT pg_advisory_lock($1), pg_advisory_lock($2)", beforeFirstTask, beforeSecondTask))(t)

	var returned [2]taskqueue.DueCounts
	var errs [3]error
	var calls sync.WaitGroup
	calls.Go(func() { returned[1], errs[1] = second.Maintenance.ReturnDue(ctx, 10) })
	awaitGate := func(gate int) {
		for isReached := false; !isReached; {
			testenv.Need(0, gates.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database
				WHERE locktype = 'advisory' AND objid = $1 AND NOT granted AND datname = current_database())`, gate).Scan(&isReached))(t)
		}
	}
	awaitGate(beforeFirstTask)
	returned[0], errs[0] = first.Maintenance.ReturnDue(ctx, 1)
	testenv.Need(gates.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", beforeFirstTask))(t)
	awaitGate(beforeSecondTask)
	var hasClaimed atomic.Bool
	calls.Go(func() {
		defer hasClaimed.Store(true)
		_, errs[2] = l.Claims.Claim(ctx, kind, 1, lease)
	})
	testenv.Need(0, l.awaitLock(ctx, "transactionid", hasClaimed.Load))(t)
	testenv.Need(gates.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", beforeSecondTask))(t)
	calls.Wait()
	if err := errors.Join(errs[:]...); err != nil || returned[0].Requeued+returned[1].Requeued != 2 {
		t.Errorf("returned %+v, %v", returned, err)
	}
}

// A task that returns to its queue does not change the queue's ordering.
func TestAReturningTaskDoesNotChangeTheOrdering(t *testing.T) {
	eachQueue(t, func(_ *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "old"))
		old := q.claimOne("old")
		q.enqueue(orderedTask(taskqueue.Ordered, "1", 3), orderedTask(taskqueue.Ordered, "2", 3))
		q.fail(old, time.Second, false)
		q.advanceClock(time.Second)
		q.maintain()
		for _, key := range []string{"1", "2", "old"} {
			task := q.claimOne(key)
			q.claimNone("one is in flight")
			q.complete(task)
		}
	})
}

// Lists of tasks are complete in a database of any collation, also in that of a language,
// as most databases have.
func TestTaskListsAreCompleteInAnyCollation(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.Database(t))
	for _, column := range []string{"tasks ALTER COLUMN id", "tasks ALTER COLUMN topic", "queues ALTER COLUMN topic"} {
		testenv.Need(l.exec(t.Context(), "ALTER TABLE "+column+` TYPE TEXT COLLATE "en-x-icu"`))(t)
	}
	testenv.Need(l.Tasks.Enqueue(t.Context(), []taskqueue.NewTask{newTask("a", "1"), newTask("B", "2"), newTask("c~", "3")}))(t)
	page, next, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, "", 2)
	if err != nil || len(page) != 2 || next == "" {
		t.Fatalf("tasks %+v, then %q, %v", page, next, err)
	}
	if page, next, err = l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, next, 2); err != nil || len(page) != 1 || next != "" {
		t.Errorf("tasks %+v, then %q, %v", page, next, err)
	}
	var lines []string
	for cursor := ""; ; {
		page, next, err := l.Tasks.Queues(t.Context(), taskqueue.QueueFilter{}, cursor, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range page {
			lines = append(lines, task.Topic)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if want := []string{"work/a", "work/B", "work/c~"}; !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
}

// A node that stops in the middle of a transaction blocks a queue for others only for a
// moment. A transaction that only reads may take long.
func TestAStalledTransactionReleasesItsLocks(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	const timeout = time.Second
	stalled, other := openConfig(t, Config{URL: db.URL, maxIdleInTx: timeout}), openLedger(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := stalled.inTx(ctx, func(tx *transaction) error {
		if _, err := enqueue(ctx, tx, []taskqueue.NewTask{newTask("a", "stalled")}); err != nil {
			return err
		}
		_, err := other.Tasks.Enqueue(ctx, []taskqueue.NewTask{newTask("a", "k")})
		return err
	})
	if !IsUnavailable(err) || ctx.Err() != nil {
		t.Errorf("the stalled transaction ended with %v; %v", err, ctx.Err())
	}
	if tasks := testenv.Need(other.Claims.Claim(t.Context(), kind, 10, lease))(t); len(tasks) != 1 || tasks[0].Key != "k" {
		t.Errorf("claimed %+v", tasks)
	}
	err = stalled.inSnapshot(ctx, func(tx *transaction) error {
		<-time.After(timeout * 3 / 2)
		tx.get(ctx, into(new(int)), "SELECT 1")
		return tx.err
	})
	if err != nil {
		t.Error(err)
	}
}
