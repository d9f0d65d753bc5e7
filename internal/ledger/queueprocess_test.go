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
	processNameEnv = "LASTSTAND_LEDGER_HAND"
	processURLEnv  = "LASTSTAND_LEDGER_HAND_URL"
	processDirEnv  = "LASTSTAND_LEDGER_HAND_DIR"
)

// queueProcess is a process with producers, workers and a maintainer. It prints "ready",
// and then a line for each acknowledged call. The lines are "enqueued KEY ID", "claimed
// KEY FENCE", "completed KEY FENCE" and, after a task's last failure, "deadLettered KEY
// FENCE". It prints "broken CAUSE" for an unexpected error.
type queueProcess struct {
	t      *testing.T
	ledger *Ledger
	name   string
	report func(line string)
}

const (
	producerPause = 20 * time.Millisecond  // between two calls of a producer, which runs until it is killed
	processLease  = 300 * time.Millisecond // short, so that tasks of a killed process soon return to the queue
)

// TestQueueProcess is the process that other tests start and kill. When it is run directly,
// it does nothing.
func TestQueueProcess(t *testing.T) {
	name := os.Getenv(processNameEnv)
	if name == "" {
		return
	}
	go endWithParent()
	h := &queueProcess{t: t, name: name, report: func(line string) { fmt.Println(line) }}
	h.retryUntilDone(func() (err error) {
		h.ledger, err = Open(t.Context(), Config{URL: os.Getenv(processURLEnv), Dir: os.Getenv(processDirEnv), Logger: slog.New(slog.DiscardHandler)})
		return err
	})
	h.report("ready")
	never := func() bool { return false }
	runConcurrently(5, func(i int) {
		switch {
		case i < 2:
			h.produce(i)
		case i < 4:
			h.work(never)
		default:
			h.maintain(never)
		}
	})
}

func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// retryUntilDone repeats a call while the database is unavailable or the outcome is unknown.
func (h *queueProcess) retryUntilDone(f func() error) {
	for err := f(); err != nil; err = f() {
		if !IsUnavailable(err) {
			h.report("broken " + err.Error())
			return
		}
		time.Sleep(5 * time.Millisecond) // the database needs time to restart
	}
}

func (h *queueProcess) produce(producer int) {
	for n := 0; ; time.Sleep(producerPause) {
		var batch []taskqueue.NewTask
		for range 1 + rand.IntN(5) {
			task := newTask(fmt.Sprint("t", rand.IntN(4)), fmt.Sprint(h.name, "-", producer, "-", n))
			task.MaxTries, task.Priority = taskqueue.MaxTriesLimit, rand.Int64N(2)
			if rand.IntN(8) == 0 {
				task.Topic, task.Ordering = kind+"/ordered", taskqueue.Ordered
			}
			batch = append(batch, task)
			n++
		}
		h.retryUntilDone(func() error {
			accepted, err := h.ledger.Tasks.Enqueue(h.t.Context(), batch)
			for i, a := range accepted {
				h.report("enqueued " + batch[i].Key + " " + a.ID)
			}
			return err
		})
	}
}

// reportLine returns a line of the report about an attempt.
func reportLine(what string, t *taskqueue.Task) string {
	return fmt.Sprint(what, " ", t.Key, " ", t.Fence)
}

func (h *queueProcess) work(over func() bool) {
	for !over() {
		var tasks []taskqueue.Task
		h.retryUntilDone(func() (err error) {
			tasks, err = h.ledger.Claims.Claim(h.t.Context(), kind, 10, processLease)
			return err
		})
		for i := range tasks {
			h.report(reportLine("claimed", &tasks[i]))
		}
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond) // the work
		h.endTasks(tasks)
	}
}

// endTasks ends attempts. One in ten tasks fails at first, and one fails permanently.
func (h *queueProcess) endTasks(tasks []taskqueue.Task) {
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
	h.retryUntilDone(func() error {
		lost, err := h.ledger.Claims.Complete(h.t.Context(), taskLeases(good))
		h.reportHeld("completed", good, lost, err)
		return err
	})
	h.retryUntilDone(func() error {
		lost, err := h.ledger.Claims.Fail(h.t.Context(), bad)
		h.reportHeld("deadLettered", deadLettered, lost, err)
		return err
	})
}

func (h *queueProcess) reportHeld(what string, tasks []taskqueue.Task, lost []taskqueue.Lease, err error) {
	for i := range tasks {
		if err == nil && !slices.Contains(lost, tasks[i].Lease()) {
			h.report(reportLine(what, &tasks[i]))
		}
	}
}

func (h *queueProcess) maintain(over func() bool) {
	for !over() {
		h.retryUntilDone(func() error {
			_, err := h.ledger.Maintenance.ReturnDue(h.t.Context(), 100)
			return err
		})
		time.Sleep(20 * time.Millisecond) // the database has more to do
	}
}

// processReports collects and checks the reports of processes.
type processReports struct {
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

func newProcessReports() *processReports {
	return &processReports{
		ids: map[string]string{}, claimed: map[string]int64{}, leases: map[string]bool{}, done: map[string]int64{}, deadLettered: map[string]int64{},
	}
}

func (p *processReports) addError(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// addLine adds a line of a report.
func (p *processReports) addLine(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines++
	what, rest, _ := strings.Cut(line, " ")
	key, id, _ := strings.Cut(rest, " ")
	if what == "ready" {
		p.ready++
		return
	}
	if what == "enqueued" {
		if was := p.ids[key]; was != "" && was != id {
			p.addError("key %s is task %s and task %s", key, was, id)
		}
		p.ids[key] = id
		return
	}
	fence, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		p.addError("a hand reported: %s", line)
		return
	}
	switch what {
	case "claimed":
		if p.leases[rest] {
			p.addError("lease %s was given twice", rest)
		}
		p.leases[rest], p.claimed[key] = true, max(p.claimed[key], fence)
	case "completed":
		p.recordEnd(p.done, key, fence)
	case "deadLettered":
		p.recordEnd(p.deadLettered, key, fence)
	}
}

func (p *processReports) recordEnd(ends map[string]int64, key string, fence int64) {
	if was, twice := ends[key]; twice {
		p.addError("task %s ended by fences %d and %d", key, was, fence)
	}
	ends[key] = fence
}

// reported returns how many processes are ready, how many lines they have printed, and
// whether a line is wrong.
func (p *processReports) reported() (ready, lines int, wrong bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready, p.lines, len(p.faults) > 0
}

// check compares the reports with the queue after all tasks have ended.
func (p *processReports) check(t *testing.T, l *Ledger) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		t.Error(fault)
	}
	tasks := allTasks(t, l)
	for key, id := range p.ids {
		if tasks[key].ID != id {
			t.Errorf("task %s was acknowledged as %s and is lost: %+v", key, id, tasks[key])
		}
	}
	count := map[taskqueue.State]int{}
	for key, task := range tasks {
		if p.ids[key] != "" {
			count[task.State]++
		}
		if task.Fence < p.claimed[key] || task.State != taskqueue.StateDone && task.State != taskqueue.StateDead {
			t.Errorf("task %s is at the end %+v, its newest lease %d", key, task, p.claimed[key])
		}
	}
	for state, ends := range map[taskqueue.State]map[string]int64{taskqueue.StateDone: p.done, taskqueue.StateDead: p.deadLettered} {
		for key, fence := range ends {
			if tasks[key].State != state || tasks[key].Fence != fence {
				t.Errorf("task %s became %s by fence %d and is %+v", key, state, fence, tasks[key])
			}
		}
	}
	if len(p.ids) == 0 || count[taskqueue.StateDone]+count[taskqueue.StateDead] != len(p.ids) {
		t.Errorf("%d acknowledged, of which at the end %v", len(p.ids), count)
	}
}

func allTasks(t *testing.T, l *Ledger) map[string]taskqueue.Task {
	t.Helper()
	tasks := map[string]taskqueue.Task{}
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, err := l.Tasks.Tasks(t.Context(), taskqueue.Filter{}, cursor, 500)
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
