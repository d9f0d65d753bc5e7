package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"laststand/internal/taskqueue"
)

func orderedTask(ordering taskqueue.Ordering, key string, tries int64) taskqueue.NewTask {
	n := newTask("a", key)
	n.Ordering, n.MaxTries = ordering, tries
	return n
}

// An ordered queue delivers one task at a time. A failing task blocks the others until it
// is done.
func TestAnOrderedQueueRunsOneTaskAtATime(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(orderedTask(taskqueue.Ordered, "1", 3), orderedTask(taskqueue.Ordered, "2", 3), orderedTask(taskqueue.Ordered, "3", 3))
		head := q.claimOne("1")
		q.claimNone("one is in flight")
		q.wantQueue("a", 3, 1, 0)
		q.fail(head, time.Second, false)
		q.claimNone("it is to be tried again first")
		q.wantQueue("a", 3, 1, 0)
		q.advanceClock(time.Second)
		q.woken = nil
		q.maintain()
		if !slices.Equal(q.woken, []string{"work/a"}) {
			t.Errorf("notified topics %q when the head was due", q.woken)
		}
		head = q.claimOne("1")
		if head.Pos != 1 || head.Tries != 1 {
			t.Errorf("the head came back as %+v", head)
		}
		q.advanceClock(lease) // its worker dies
		q.maintain()
		head = q.claimOne("1")
		q.hasLease(returnTasks(t.Context(), q.Claims, taskLeases([]taskqueue.Task{head})))
		head = q.claimOne("1")
		q.woken = nil
		q.complete(head)
		if !slices.Equal(q.woken, []string{"work/a"}) {
			t.Errorf("notified topics %q when the head was done", q.woken)
		}
		q.wantQueue("a", 3, 1, 1)
		q.complete(q.claimOne("2"))
		q.complete(q.claimOne("3"))
		q.wantQueue("a", 3, 3, 3)
	})
}

func TestADeadHeadReleasesAnOrderedQueue(t *testing.T) {
	eachQueue(t, func(_ *testing.T, q *queueFixture) {
		q.enqueue(orderedTask(taskqueue.Ordered, "1", 1), orderedTask(taskqueue.Ordered, "2", 1))
		q.fail(q.claimOne("1"), 0, false)
		q.wantQueue("a", 2, 1, 1)
		q.claimOne("2")
	})
}

// A dead head of a pausing queue blocks the queue until an operator requeues or discards
// it.
func TestADeadHeadBlocksAPausingQueue(t *testing.T) {
	eachQueue(t, func(_ *testing.T, q *queueFixture) {
		id := q.enqueue(orderedTask(taskqueue.OrderedPausing, "1", 1), orderedTask(taskqueue.OrderedPausing, "2", 1))[0].ID
		for range 2 {
			q.fail(q.claimOne("1"), 0, false)
			q.wantState(id, taskqueue.StateDead)
			q.advanceClock(time.Hour)
			q.wantQueue("a", 2, 1, 0)
			q.claimNone("the head is dead")
			q.change(id, (*taskqueue.Task).Requeue)
		}
		q.fail(q.claimOne("1"), 0, false)
		q.change(id, (*taskqueue.Task).Discard)
		q.wantQueue("a", 2, 1, 1)
		q.complete(q.claimOne("2"))
		q.change(id, (*taskqueue.Task).Requeue)
		q.wantQueue("a", 3, 2, 2)
		q.claimOne("1")
	})
}

// A head that an operator discards, in whatever state, does not block its queue.
func TestADiscardedHeadReleasesItsQueue(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		for name, bring := range map[string]func(head taskqueue.Task){
			"claimed": func(taskqueue.Task) {},
			"later":   func(head taskqueue.Task) { q.fail(head, time.Hour, false) },
			"again": func(head taskqueue.Task) {
				q.hasLease(returnTasks(t.Context(), q.Claims, taskLeases([]taskqueue.Task{head})))
			},
		} {
			q.enqueue(orderedTask(taskqueue.Ordered, "1"+name, 3), orderedTask(taskqueue.Ordered, "2"+name, 3))
			head := q.claimOne("1" + name)
			bring(head)
			q.change(head.ID, (*taskqueue.Task).Discard)
			q.complete(q.claimOne("2" + name))
		}
	})
}

// The last enqueued task sets the ordering of a queue.
func TestTheLastEnqueuedTaskSetsTheOrdering(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "1"), newTask("a", "2"))
		free := q.claim(1)
		q.enqueue(orderedTask(taskqueue.Ordered, "3", 3))
		head := q.claimOne("2")
		q.complete(free...)
		q.claimNone("2 is in flight")
		q.enqueue(newTask("a", "4"))
		q.claimNone("2 is still in flight")
		q.complete(head)
		if got := taskKeys(q.claim(10)); !slices.Equal(got, []string{"3", "4"}) {
			t.Errorf("claimed %q", got)
		}
	})
}

// A topic with a thousand tasks does not delay topics with one task, even if those are
// added later.
func TestTopicsAreServedAlternately(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		var many []taskqueue.NewTask
		for i := range 1000 {
			many = append(many, newTask("huge", fmt.Sprint(i)))
		}
		q.enqueue(many...)
		q.complete(q.claim(500)...)
		q.enqueue(newTask("b", "b"), newTask("c", "c"))
		got := taskKeys(q.claim(3))
		if !slices.Contains(got, "b") || !slices.Contains(got, "c") {
			t.Errorf("claimed %q", got)
		}
		q.complete(q.claim(1000)...)
		q.enqueue(newTask("late", "late")) // when all had been idle
		q.enqueue(newTask("huge", "more"), newTask("b", "more"))
		if got := taskKeys(q.claim(3)); len(got) != 3 {
			t.Errorf("claimed %q", got)
		}
	})
}

// Priorities are served by weight: each one twice as often as the next lower one. None
// starves.
func TestPrioritiesAreServedByWeight(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		var tasks []taskqueue.NewTask
		for i := range 400 {
			for _, priority := range []int64{0, 1, 3} {
				n := newTask("a", fmt.Sprint(priority, "-", i))
				n.Priority = priority
				tasks = append(tasks, n)
			}
		}
		q.enqueue(tasks[:600]...)
		q.enqueue(tasks[600:]...)
		got := map[int64]int{}
		for range 11 {
			for _, task := range q.claim(10) {
				got[task.Priority]++
			}
		}
		if want := map[int64]int{0: 10, 1: 20, 3: 80}; got[0]+got[1]+got[3] != 110 || abs(got[0]-want[0]) > 1 || abs(got[1]-want[1]) > 2 {
			t.Errorf("claimed %v, want %v", got, want)
		}
	})
}

func abs(n int) int { return max(n, -n) }
