package ledger

import (
	"slices"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// A queue is deleted with its last task, and is created again by the next task. A queue
// that is in use or has a waiting task stays.
func TestIdleQueuesAreDeleted(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		topics := func() (all []string) {
			for _, l := range q.listQueues(taskqueue.QueueFilter{}) {
				all = append(all, l.Topic)
			}
			return all
		}
		q.enqueue(newTask("idle", "1"), newTask("used", "1"), newTask("waits", "1"))
		for _, task := range q.claim(10) {
			if task.Topic != kind+"/waits" {
				q.complete(task)
			}
		}
		q.advanceClock(keyTTL + time.Millisecond)
		q.enqueue(newTask("used", "2"))
		q.complete(q.claimTopic("used"))
		q.maintain()
		if got, want := topics(), []string{kind + "/used", kind + "/waits"}; !slices.Equal(got, want) {
			t.Errorf("queues %q are left, want %q", got, want)
		}
		q.enqueue(newTask("idle", "1"))
		q.wantQueue("idle", 1, 0, 0)
		q.complete(q.claimTopic("idle"))
		q.wantQueue("idle", 1, 1, 1)
	})
}

// claimTopic claims the only task, which must have the topic.
func (q *queueFixture) claimTopic(topic string) taskqueue.Task {
	q.t.Helper()
	tasks := slices.DeleteFunc(q.claim(10), func(t taskqueue.Task) bool { return t.Topic != kind+"/"+topic })
	if len(tasks) != 1 {
		q.t.Fatalf("claimed %q of %s, want one", taskKeys(tasks), topic)
	}
	return tasks[0]
}

// A queue whose positions are all delivered stays while one of its tasks is claimed.
func TestAQueueWithAClaimedTaskIsNotDeleted(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		q.enqueue(newTask("a", "1"), newTask("a", "2"))
		tasks := testenv.Need(q.Claims.Claim(t.Context(), kind, 10, 2*keyTTL))(t)
		q.complete(tasks[0])
		q.advanceClock(keyTTL + time.Millisecond)
		q.wantQueue("a", 2, 2, 1)
		q.enqueue(newTask("a", "3"))
		q.wantQueue("a", 3, 2, 1)
	})
}
