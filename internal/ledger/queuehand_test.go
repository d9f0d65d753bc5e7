package ledger

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/taskqueue"
)

// Environment variables of a process that another test starts to use its queue.
const (
	handName = "LASTSTAND_LEDGER_HAND"
	handURL  = "LASTSTAND_LEDGER_HAND_URL"
	handDir  = "LASTSTAND_LEDGER_HAND_DIR"
)

// queueProcess is a process with producers, workers and a maintainer. It prints "ready",
// and then a line for each acknowledged call. The lines are "enqueued KEY ID", "claimed
// KEY FENCE", "completed KEY FENCE" and, after a task's last failure, "deadLettered KEY
// FENCE". It prints "broken CAUSE" for an unexpected error.
type queueProcess struct {
	t      *testing.T
	l      *Ledger
	name   string
	report func(line string)
}

const (
	handPause = 20 * time.Millisecond  // between two calls of a producer, which runs until it is killed
	handLease = 300 * time.Millisecond // short, so that tasks of a killed process soon return to the queue
)

// TestQueueProcess is the process that other tests start and kill. When it is run directly,
// it does nothing.
func TestQueueHand(t *testing.T) {
	name := os.Getenv(handName)
	if name == "" {
		return
	}
	go endWithParent()
	h := &queueProcess{t: t, name: name, report: func(line string) { fmt.Println(line) }}
	h.insist(func() (err error) {
		h.l, err = Open(t.Context(), Config{URL: os.Getenv(handURL), Dir: os.Getenv(handDir), Logger: slog.New(slog.DiscardHandler)})
		return err
	})
	h.report("ready")
	never := func() bool { return false }
	atOnceN(5, func(i int) {
		switch {
		case i < 2:
			h.produce(i)
		case i < 4:
			h.work(never)
		default:
			h.keep(never)
		}
	})
}

func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// insist repeats a call while the database is unavailable or the outcome is unknown.
func (h *queueProcess) insist(f func() error) {
	for err := f(); err != nil; err = f() {
		if !Unavailable(err) {
			h.report("broken " + err.Error())
			return
		}
		time.Sleep(5 * time.Millisecond) // the database needs time to restart
	}
}

func (h *queueProcess) produce(producer int) {
	for n := 0; ; time.Sleep(handPause) {
		var batch []taskqueue.NewTask
		for range 1 + rand.IntN(5) {
			task := work(fmt.Sprint("t", rand.IntN(4)), fmt.Sprint(h.name, "-", producer, "-", n))
			task.MaxTries, task.Priority = taskqueue.TriesLimit, rand.Int64N(2)
			if rand.IntN(8) == 0 {
				task.Topic, task.Ordering = kind+"/ordered", taskqueue.Ordered
			}
			batch = append(batch, task)
			n++
		}
		h.insist(func() error {
			accepted, err := h.l.Enqueue(h.t.Context(), batch)
			for i, a := range accepted {
				h.report("enqueued " + batch[i].Key + " " + a.ID)
			}
			return err
		})
	}
}

// word returns a line of the report about an attempt.
func word(what string, t *taskqueue.Task) string { return fmt.Sprint(what, " ", t.Key, " ", t.Fence) }

func (h *queueProcess) work(over func() bool) {
	for !over() {
		var tasks []taskqueue.Task
		h.insist(func() (err error) {
			tasks, err = h.l.Claim(h.t.Context(), kind, 10, handLease)
			return err
		})
		for i := range tasks {
			h.report(word("claimed", &tasks[i]))
		}
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond) // the work
		h.end(tasks)
	}
}

// end ends attempts. One in ten tasks fails at first, and one fails permanently.
func (h *queueProcess) end(tasks []taskqueue.Task) {
	var good, deadLettered []taskqueue.Task
	var bad []taskqueue.FailedAttempt
	for _, t := range tasks {
		failed := taskqueue.FailedAttempt{Lease: t.Lease(), Err: errors.New("why"), Wait: 20 * time.Millisecond}
		switch last := t.Key[len(t.Key)-1]; {
		case last == '7':
			failed.Final = true
			deadLettered = append(deadLettered, t)
			bad = append(bad, failed)
		case last == '3' && t.Tries == 0:
			bad = append(bad, failed)
		default:
			good = append(good, t)
		}
	}
	h.insist(func() error {
		lost, err := h.l.Complete(h.t.Context(), leasesOf(good))
		h.reportHeld("completed", good, lost, err)
		return err
	})
	h.insist(func() error {
		lost, err := h.l.Fail(h.t.Context(), bad)
		h.reportHeld("deadLettered", deadLettered, lost, err)
		return err
	})
}

func (h *queueProcess) reportHeld(what string, tasks []taskqueue.Task, lost []taskqueue.Lease, err error) {
	for i := range tasks {
		if err == nil && !slices.Contains(lost, tasks[i].Lease()) {
			h.report(word(what, &tasks[i]))
		}
	}
}

func (h *queueProcess) keep(over func() bool) {
	for !over() {
		h.insist(func() error {
			_, err := h.l.ReturnDue(h.t.Context(), 100)
			return err
		})
		h.insist(func() error {
			_, _, _, err := h.l.MoveDone(h.t.Context(), taskqueue.QueueID{}, 100)
			return err
		})
		time.Sleep(20 * time.Millisecond) // the database has more to do
	}
}

// docket collects and checks the reports of processes.
type docket struct {
	mu           sync.Mutex
	ready        int // hands
	lines        int
	faults       []string
	ids          map[string]string // ids of accepted tasks, by key
	claimed      map[string]int64  // the newest fence of a claim, by key
	leases       map[string]bool   // all leases that were reported
	done         map[string]int64  // the fence with which a task was completed, by key
	deadLettered map[string]int64
}

func newDocket() *docket {
	return &docket{
		ids: map[string]string{}, claimed: map[string]int64{}, leases: map[string]bool{}, done: map[string]int64{}, deadLettered: map[string]int64{},
	}
}

func (d *docket) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

// take adds a line of a report.
func (d *docket) take(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines++
	what, rest, _ := strings.Cut(line, " ")
	key, id, _ := strings.Cut(rest, " ")
	if what == "ready" {
		d.ready++
		return
	}
	if what == "enqueued" {
		if was := d.ids[key]; was != "" && was != id {
			d.fault("key %s is task %s and task %s", key, was, id)
		}
		d.ids[key] = id
		return
	}
	fence, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		d.fault("a hand reported: %s", line)
		return
	}
	switch what {
	case "claimed":
		if d.leases[rest] {
			d.fault("lease %s was given twice", rest)
		}
		d.leases[rest], d.claimed[key] = true, max(d.claimed[key], fence)
	case "completed":
		d.endOnce(d.done, key, fence)
	case "deadLettered":
		d.endOnce(d.deadLettered, key, fence)
	}
}

func (d *docket) endOnce(ends map[string]int64, key string, fence int64) {
	if was, twice := ends[key]; twice {
		d.fault("task %s ended by fences %d and %d", key, was, fence)
	}
	ends[key] = fence
}

// reported returns how many processes are ready, how many lines they have printed, and
// whether a line is wrong.
func (d *docket) reported() (ready, lines int, wrong bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ready, d.lines, len(d.faults) > 0
}

// check compares the reports with the queue after all tasks have ended.
func (d *docket) check(t *testing.T, l *Ledger) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, fault := range d.faults {
		t.Error(fault)
	}
	tasks := allTasks(t, l)
	for key, id := range d.ids {
		if tasks[key].ID != id {
			t.Errorf("task %s was acknowledged as %s and is lost: %+v", key, id, tasks[key])
		}
	}
	count := map[taskqueue.State]int{}
	for key, task := range tasks {
		if d.ids[key] != "" {
			count[task.State]++
		}
		if task.Fence < d.claimed[key] || task.State != taskqueue.Done && task.State != taskqueue.Dead {
			t.Errorf("task %s is at the end %+v, its newest lease %d", key, task, d.claimed[key])
		}
	}
	for state, ends := range map[taskqueue.State]map[string]int64{taskqueue.Done: d.done, taskqueue.Dead: d.deadLettered} {
		for key, fence := range ends {
			if tasks[key].State != state || tasks[key].Fence != fence {
				t.Errorf("task %s became %s by fence %d and is %+v", key, state, fence, tasks[key])
			}
		}
	}
	if len(d.ids) == 0 || count[taskqueue.Done]+count[taskqueue.Dead] != len(d.ids) {
		t.Errorf("%d acknowledged, of which at the end %v", len(d.ids), count)
	}
}

func allTasks(t *testing.T, l *Ledger) map[string]taskqueue.Task {
	t.Helper()
	tasks := map[string]taskqueue.Task{}
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := l.Tasks(t.Context(), taskqueue.Filter{}, cursor, 500)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			tasks[page[i].Key] = page[i]
		}
		cursor = next
	}
	return tasks
}
