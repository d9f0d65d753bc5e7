package taskqueue

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func newQueue(priority, pos, scan, vtime int64) Queue {
	return Queue{QueueID: QueueID{"t", priority}, Pos: pos, Scan: scan, VirtualTime: vtime}
}

// allocationSizes returns the number of positions of each allocation.
func allocationSizes(allocations []Allocation) (sizes []int64) {
	for _, allocation := range allocations {
		sizes = append(sizes, allocation.Last-allocation.First+1)
	}
	return sizes
}

func TestAllocateDividesPositionsByVirtualTime(t *testing.T) {
	t.Parallel()
	inFlight := Queue{Pos: 9, Scan: 3, Ordering: Ordered, Head: "x"}
	redelivered := Queue{Pos: 9, Scan: 2, Ordering: Ordered}
	for name, tt := range map[string]struct {
		queues []Queue
		n      int
		want   []int64
	}{
		"all positions of one queue":               {[]Queue{newQueue(0, 9, 4, 7)}, 10, []int64{5}},
		"some positions of one queue":              {[]Queue{newQueue(0, 9, 4, 7)}, 2, []int64{2}},
		"queues with equal virtual times":          {[]Queue{newQueue(0, 9, 0, 0), newQueue(0, 9, 0, 0)}, 6, []int64{3, 3}},
		"a short queue":                            {[]Queue{newQueue(0, 1, 0, 0), newQueue(0, 9, 0, 0)}, 6, []int64{1, 5}},
		"a queue that had more before":             {[]Queue{newQueue(0, 9, 0, 3*stride(0)), newQueue(0, 9, 0, 0)}, 5, []int64{1, 4}},
		"priorities":                               {[]Queue{newQueue(0, 99, 0, 0), newQueue(2, 99, 0, 0)}, 10, []int64{2, 8}},
		"ordered queues":                           {[]Queue{{Pos: 9, Ordering: Ordered}, {Pos: 9, Ordering: OrderedPausing}}, 9, []int64{1, 1}},
		"an ordered queue whose head is in flight": {[]Queue{inFlight}, 9, []int64{0}},
		"an ordered queue whose head is due again": {[]Queue{redelivered}, 9, []int64{1}},
		"an empty queue":                           {[]Queue{newQueue(0, 4, 4, 0)}, 9, []int64{0}},
	} {
		allocations := Allocate(tt.queues, tt.n)
		for i, n := range allocationSizes(allocations) {
			if n != tt.want[i] {
				t.Errorf("%s: allocated %v positions, want %v", name, allocationSizes(allocations), tt.want)
			}
		}
	}
}

func TestBackoffWaitsUpToADoublingLimit(t *testing.T) {
	t.Parallel()
	backoff := Backoff{First: time.Second, Max: 10 * time.Second}
	for attempts, limit := range map[int64]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		var longest, shortest time.Duration = 0, limit
		for range 1000 {
			wait := backoff.RandomWait(attempts)
			longest, shortest = max(longest, wait), min(shortest, wait)
		}
		if longest > limit || longest < limit*9/10 || shortest > limit/10 {
			t.Errorf("after %d tries it waits %s to %s, want up to %s", attempts, shortest, longest, limit)
		}
	}
}

func TestCheckRefusesInvalidTasks(t *testing.T) {
	t.Parallel()
	valid := NewTask{Topic: "webhook/demo/1", Key: "m_1:match.settled", Priority: MaxPriority, Ordering: OrderedPausing, MaxTries: MaxTriesLimit, Payload: []byte(`{}`)}
	if err := valid.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*NewTask){
		"no topic": func(task *NewTask) { task.Topic = "" }, "no kind": func(task *NewTask) { task.Topic = "/a" }, "no key": func(task *NewTask) { task.Key = "" },
		"a key with a space": func(task *NewTask) { task.Key = "a b" }, "a long key": func(task *NewTask) { task.Key = strings.Repeat("k", MaxNameBytes+1) },
		"a bad game": func(task *NewTask) { task.Game = "ä" }, "a high priority": func(task *NewTask) { task.Priority = MaxPriority + 1 },
		"an unknown ordering": func(task *NewTask) { task.Ordering = "any" }, "negative tries": func(task *NewTask) { task.MaxTries = -1 }, "a negative time": func(task *NewTask) { task.NotBefore = -1 },
		"a time in nanoseconds": func(task *NewTask) { task.NotBefore = 1_795_294_696_837_412_425 },
		"no payload":            func(task *NewTask) { task.Payload = nil }, "no UTF-8": func(task *NewTask) { task.Payload = []byte("\"\xff\"") },
		"a large payload": func(task *NewTask) { task.Payload = []byte(`"` + strings.Repeat("x", MaxPayloadBytes) + `"`) },
	} {
		task := valid
		if change(&task); !errors.Is(task.Check(), ErrBadTask) {
			t.Errorf("%s is accepted", name)
		}
	}
}
