package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// modelTask is a task as the model of the queue knows it.
type modelTask struct {
	taskqueue.Task

	place int64 // orders those that have one in a line; the queue may leave positions out
	ended int64
}

// queueModel computes in plain Go what the queue must contain.
type queueModel struct {
	now    int64
	tasks  map[string]*modelTask // by id
	places int64
	order  map[taskqueue.QueueID]taskqueue.Ordering
	heads  map[taskqueue.QueueID]string
	lines  map[taskqueue.QueueID]taskqueue.Queue // as they were seen last
}

func (m *queueModel) enqueue(t *modelTask) {
	m.order[t.QueueID()] = t.Ordering
	m.places++
	t.place = m.places
}

// changeTask changes a task's state as package taskqueue does, and its position by the rules
// of queues.
func (m *queueModel) changeTask(id string, change func(*taskqueue.Task)) {
	t := m.tasks[id]
	was := t.State
	change(&t.Task)
	if t.State == was {
		return
	}
	t.ended = 0
	if t.State == taskqueue.StateDone || t.State == taskqueue.StateDiscarded {
		t.ended = m.now
	}
	head := m.heads[t.QueueID()] == id
	switch {
	case head && t.State == taskqueue.StateWaiting:
		delete(m.heads, t.QueueID())
	case head && (t.State == taskqueue.StateLater || t.State == taskqueue.StateDead && t.Ordering == taskqueue.OrderedPausing):
	case t.State == taskqueue.StateWaiting:
		m.enqueue(t)
	case t.State != taskqueue.StateClaimed:
		t.place = 0
		if head {
			delete(m.heads, t.QueueID())
		}
	}
}

// compareTasks orders tasks as they return to their queues.
func (m *queueModel) compareTasks(a, b string) int {
	s, t := m.tasks[a], m.tasks[b]
	if s == nil || t == nil {
		return strings.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(s.DueAt, t.DueAt), cmp.Compare(s.place, t.place), strings.Compare(a, b))
}

// waiting returns the tasks that a queue may deliver, in order.
func (m *queueModel) waiting(queue taskqueue.QueueID) (ids []string) {
	for id, t := range m.tasks {
		if t.QueueID() == queue && t.State == taskqueue.StateWaiting {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return int(m.tasks[a].place - m.tasks[b].place) })
	head := m.heads[queue]
	switch {
	case head != "":
		return nil
	case m.order[queue] != taskqueue.Unordered:
		return ids[:min(1, len(ids))]
	}
	return ids
}

// queueHistory runs randomly drawn steps on a queue and its model. It also uses leases
// that have ended, as late workers do.
type queueHistory struct {
	q      *queueFixture
	m      *queueModel
	leases []taskqueue.Lease
}

func (h *queueHistory) runStep(rt *rapid.T) {
	ctx := h.q.t.Context()
	switch rapid.SampledFrom([]string{
		"enqueue", "enqueue", "enqueue", "claim", "claim", "claim", "complete", "complete", "fail", "postpone",
		"renew", "return", "pass", "tend", "change", "change",
	}).Draw(rt, "step") {
	case "enqueue":
		h.enqueue(rt)
	case "claim":
		h.claim(rt, rapid.IntRange(1, 5).Draw(rt, "n"))
	case "complete":
		h.end(rt, func(leases []taskqueue.Lease) ([]taskqueue.Lease, error) { return h.q.Claims.Complete(ctx, leases) },
			func(t *taskqueue.Task) { t.Finish(t.Payload) })
	case "fail":
		attempt := taskqueue.FailedAttempt{Wait: drawWait(rt), Final: rapid.IntRange(0, 4).Draw(rt, "final") == 0}
		h.fail(rt, attempt, func(t *taskqueue.Task) {
			before := *t
			_ = t.Fail(h.m.now, errCause)
			if !attempt.Final && before.Tries+1 < before.MaxTries {
				t.State, t.DueAt = taskqueue.StateLater, h.m.now+attempt.Wait.Milliseconds()
			}
		})
	case "postpone":
		attempt := taskqueue.FailedAttempt{Wait: drawWait(rt), Postponed: true}
		h.fail(rt, attempt, func(t *taskqueue.Task) {
			if t.Postpone(h.m.now, attempt.Wait); attempt.Wait == 0 {
				t.ReturnToQueue()
			}
		})
	case "renew":
		h.end(rt, func(leases []taskqueue.Lease) ([]taskqueue.Lease, error) { return h.q.Claims.Renew(ctx, leases, lease) },
			func(t *taskqueue.Task) { t.DueAt = h.m.now + lease.Milliseconds() })
	case "return":
		h.end(rt, func(leases []taskqueue.Lease) ([]taskqueue.Lease, error) { return returnTasks(ctx, h.q.Claims, leases) }, (*taskqueue.Task).ReturnToQueue)
	case "pass":
		d := rapid.SampledFrom([]time.Duration{time.Second, 20 * time.Second, lease, 3 * 24 * time.Hour}).Draw(rt, "pass")
		h.q.advanceClock(d)
		h.m.now = h.q.now
	case "tend":
		h.maintain(rt)
	case "change":
		h.change(rt)
	}
}

func (h *queueHistory) enqueue(rt *rapid.T) {
	var batch []taskqueue.NewTask
	for range rapid.IntRange(1, 4).Draw(rt, "tasks") {
		n := newTask(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "topic"), fmt.Sprint(rapid.IntRange(0, 30).Draw(rt, "key")))
		n.Priority = int64(rapid.IntRange(0, 1).Draw(rt, "priority"))
		n.Ordering = map[string]taskqueue.Ordering{kind + "/a": taskqueue.Unordered, kind + "/b": taskqueue.Ordered, kind + "/c": taskqueue.OrderedPausing}[n.Topic]
		n.MaxTries = int64(rapid.IntRange(1, 3).Draw(rt, "tries"))
		if rapid.IntRange(0, 3).Draw(rt, "later") == 0 {
			n.NotBefore = h.m.now + int64(rapid.IntRange(-1, 2).Draw(rt, "before"))*10_000
		}
		batch = append(batch, n)
	}
	for i, got := range h.q.enqueue(batch...) {
		first := h.findByKey(batch[i])
		if (first == nil) != got.New || first != nil && (first.ID != got.ID || first.State != got.State) {
			rt.Fatalf("enqueued %s %s: %+v, where %+v was", batch[i].Topic, batch[i].Key, got, first)
		}
		if first != nil {
			continue
		}
		t := &modelTask{Task: batch[i].Task(h.m.now)}
		t.ID = got.ID
		h.m.tasks[t.ID] = t
		if t.State == taskqueue.StateWaiting {
			h.m.enqueue(t)
		}
	}
}

func (h *queueHistory) findByKey(n taskqueue.NewTask) *modelTask {
	for _, t := range h.m.tasks {
		if t.Topic == n.Topic && t.Key == n.Key {
			return t
		}
	}
	return nil
}

func (h *queueHistory) claim(rt *rapid.T, n int) {
	got := map[taskqueue.QueueID][]string{}
	for _, t := range h.q.claim(n) {
		got[t.QueueID()] = append(got[t.QueueID()], t.ID)
		h.leases = append(h.leases, t.Lease())
		if n--; t.Fence != h.m.tasks[t.ID].Fence+1 {
			rt.Errorf("fence %d after %d", t.Fence, h.m.tasks[t.ID].Fence)
		}
	}
	if n < 0 {
		rt.Fatalf("claimed %d too many", -n)
	}
	left := 0
	for queue := range h.m.order {
		want := h.m.waiting(queue)
		left += len(want) - len(got[queue])
		if k := len(got[queue]); k > len(want) || !slices.Equal(got[queue], want[:k]) {
			rt.Fatalf("claimed %q of %v, want the first of %q", got[queue], queue, want)
		}
		for _, id := range got[queue] {
			h.m.changeTask(id, func(t *taskqueue.Task) {
				t.State, t.Fence, t.DueAt = taskqueue.StateClaimed, t.Fence+1, h.m.now+lease.Milliseconds()
			})
			if h.m.order[queue] != taskqueue.Unordered {
				h.m.heads[queue] = id
			}
		}
	}
	if len(got) == 0 && left > 0 {
		rt.Fatalf("claimed none of %d", left)
	}
}

var errCause = errors.New("why")

func drawWait(rt *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(0, 50).Draw(rt, "wait")) * time.Second
}

// fail lets some attempts fail in the same way.
func (h *queueHistory) fail(rt *rapid.T, attempt taskqueue.FailedAttempt, change func(*taskqueue.Task)) {
	h.end(rt, func(leases []taskqueue.Lease) ([]taskqueue.Lease, error) {
		var failed []taskqueue.FailedAttempt
		for _, lease := range leases {
			attempt.Lease, attempt.Err = lease, errCause
			failed = append(failed, attempt)
		}
		return h.q.Claims.Fail(h.q.t.Context(), failed)
	}, change)
}

// end ends some attempts. Those with an old lease must change nothing.
func (h *queueHistory) end(rt *rapid.T, end func([]taskqueue.Lease) ([]taskqueue.Lease, error), change func(*taskqueue.Task)) {
	if len(h.leases) == 0 {
		return
	}
	some := rapid.SliceOfNDistinct(rapid.SampledFrom(h.leases), 1, min(3, len(h.leases)), rapid.ID[taskqueue.Lease]).Draw(rt, "leases")
	lost := testenv.Need(end(some))(h.q.t)
	slices.SortFunc(some, func(a, b taskqueue.Lease) int { return h.m.compareTasks(a.ID, b.ID) })
	for _, lease := range some {
		t := h.m.tasks[lease.ID]
		holds := t != nil && t.State == taskqueue.StateClaimed && t.Fence == lease.Fence
		if holds {
			h.m.changeTask(lease.ID, change)
		}
		if !holds && t != nil && t.State == taskqueue.StateDone && t.Fence == lease.Fence {
			continue // a repeated call of the same kind does not lose the lease, another one does
		}
		if slices.Contains(lost, lease) == holds {
			rt.Fatalf("lease %v lost: %v, of %+v", lease, !holds, t)
		}
	}
}

func (h *queueHistory) maintain(rt *rapid.T) {
	h.q.maintain()
	due := slices.SortedFunc(maps.Keys(h.m.tasks), h.m.compareTasks)
	for _, id := range due {
		t := h.m.tasks[id]
		if t.DueAt > 0 && t.DueAt <= h.m.now {
			h.m.changeTask(id, func(t *taskqueue.Task) { t.HandleDue(h.m.now) })
		}
		if t.ended > 0 && t.ended < h.m.now-keyTTL.Milliseconds() {
			delete(h.m.tasks, id)
		}
	}
	for queueID, l := range h.check(rt) {
		want := l.Scan
		for _, t := range h.m.tasks {
			if got := testenv.Need(h.q.Tasks.Task(h.q.t.Context(), t.ID))(h.q.t); t.QueueID() == queueID && got.Pos > 0 {
				want = min(want, got.Pos-1)
			}
		}
		if l.Done != want {
			rt.Errorf("queue %v is done up to %d, want %d", queueID, l.Done, want)
		}
	}
}

func (h *queueHistory) change(rt *rapid.T) {
	if len(h.m.tasks) == 0 {
		return
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(h.m.tasks))).Draw(rt, "task")
	change := rapid.SampledFrom([]func(*taskqueue.Task) error{
		(*taskqueue.Task).Requeue, (*taskqueue.Task).Requeue, (*taskqueue.Task).Discard,
		func(t *taskqueue.Task) error { return t.Edit([]byte(`"edited"`)) },
	}).Draw(rt, "change")
	done := h.m.tasks[id].State == taskqueue.StateDone
	_, err := h.q.Tasks.ChangeTask(h.q.t.Context(), id, change)
	if done != errors.Is(err, taskqueue.ErrDone) || !done && err != nil {
		rt.Fatalf("change of %+v: %v", h.m.tasks[id], err)
	}
	if !done {
		h.m.changeTask(id, func(t *taskqueue.Task) { _ = change(t) })
	}
}

// check compares all tasks and cursors with the model, and returns the queues.
func (h *queueHistory) check(rt *rapid.T) map[taskqueue.QueueID]taskqueue.Queue {
	ctx := h.q.t.Context()
	all, _, err := h.q.Tasks.Tasks(ctx, taskqueue.Filter{}, "", 1000)
	if err != nil || len(all) != len(h.m.tasks) {
		rt.Fatalf("%d tasks, want %d, %v", len(all), len(h.m.tasks), err)
	}
	slices.SortFunc(all, func(a, b taskqueue.Task) int { return int(a.Pos - b.Pos) })
	last := map[taskqueue.QueueID]int64{}
	for _, got := range all {
		t := h.m.tasks[got.ID]
		if got.State != t.State || got.Fence != t.Fence || got.DueAt != t.DueAt || got.Tries != t.Tries || len(got.Errors) != len(t.Errors) || got.MaxTries != t.MaxTries {
			rt.Fatalf("task\n%+v, want\n%+v", got, t.Task)
		}
		if (got.Pos > 0) != (t.place > 0) || got.Pos > 0 && t.place <= last[got.QueueID()] {
			rt.Fatalf("task %+v has no place or a wrong one, want after %d", got, last[got.QueueID()])
		}
		if got.Pos > 0 {
			last[got.QueueID()] = t.place
		}
	}
	queues := map[taskqueue.QueueID]taskqueue.Queue{}
	for _, l := range h.q.listQueues(taskqueue.QueueFilter{}) {
		was := h.m.lines[l.QueueID]
		if l.Pos < was.Pos || l.Scan < was.Scan-1 || l.Done < was.Done || l.Done > l.Scan || l.Scan > l.Pos || l.Head != h.m.heads[l.QueueID] {
			rt.Fatalf("queue %+v after %+v, head %q", l, was, h.m.heads[l.QueueID])
		}
		queues[l.QueueID] = l
	}
	h.m.lines = queues
	return queues
}

// After any sequence of calls by producers, workers, late workers and operators, and of
// clock changes, the queue equals its model. All remaining tasks can be completed.
func TestTheQueueBehavesLikeItsModel(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range []string{"tasks", "queues"} {
				testenv.Need(q.exec(t.Context(), "DELETE FROM "+table))(t)
			}
			m := &queueModel{now: q.now, tasks: map[string]*modelTask{}, order: map[taskqueue.QueueID]taskqueue.Ordering{}, heads: map[taskqueue.QueueID]string{}}
			h := &queueHistory{q: q, m: m}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				h.runStep(rt)
				h.check(rt)
			}
		})
	})
}
