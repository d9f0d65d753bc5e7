package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/taskqueue"
)

// queueRounds returns how many rounds the randomized queue tests run: few, or
// LASTSTAND_QUEUE_ROUNDS for a longer run.
func queueRounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("LASTSTAND_QUEUE_ROUNDS")); err == nil {
		return n
	}
	return few
}

// queueClients runs producers, workers, operators and a maintainer of two processes on one
// queue, and records the history. The maintainer advances the clock. Often that is longer
// than the leases of workers, and sometimes longer than keyTTL.
type queueClients struct {
	*historyRecorder

	t            *testing.T
	nodes        []*Ledger
	orderedTopic string // the ordered topic
	now          atomic.Int64
	working      atomic.Int64
	skippedTTL   bool // the clock was advanced by more than keyTTL; used by the maintainer only

	mu     sync.Mutex
	leases []taskqueue.Task // claimed tasks, also those whose leases have ended
	ids    map[string]string

	forgetting sync.RWMutex
	forgotten  int // calls that may have deleted idle queues
}

const (
	stepsPerWorker   = 60 // steps of each worker
	keysPerTopic     = 6  // keys of each of two topics
	orderedTaskCount = 12
)

// Producers, workers, late workers, operators and a maintainer run concurrently. The
// queue answers as if it had handled the calls one after another, and ordered queues run
// tasks in order.
func TestQueueIsLinearizable(t *testing.T) {
	eachQueue(t, func(t *testing.T, q *queueFixture) {
		for round := range queueRounds(2) {
			r := &queueClients{
				historyRecorder: newHistoryRecorder(), t: t, nodes: []*Ledger{q.Ledger, q.openSecond()}, orderedTopic: fmt.Sprint(kind, "/line", round), ids: map[string]string{},
			}
			r.now.Store(q.now)
			r.run(round)
			q.now = r.now.Load()
			if picture := r.check(t.ArtifactDir()); picture != "" {
				t.Fatalf("round %d is not linearizable: see %s (go test -artifacts stores it)", round, picture)
			}
		}
	})
}

// openSecond opens the ledger a second time, as another process does.
func (q *queueFixture) openSecond() *Ledger {
	q.t.Helper()
	return openConfig(q.t, Config{URL: q.db.URL, Dir: q.db.Dir, clockSQL: testClock})
}

func (c *queueClients) run(round int) {
	c.t.Helper()
	const workers = 6
	c.working.Store(workers)
	runConcurrently(workers+3, func(i int) {
		switch node := c.nodes[i%2]; {
		case i < workers:
			defer c.working.Add(-1)
			for range stepsPerWorker {
				c.runStep(node, round)
			}
		case i == workers:
			c.fillQueue(node)
		case i == workers+1:
			c.watchCursors(node)
		default:
			c.runMaintenance(node)
		}
	})
	c.finish()
}

// reported reports whether the queue has given an answer. A call that failed because the
// database was unavailable has changed nothing.
func (c *queueClients) reported(err error) bool {
	if err != nil && !IsUnavailable(err) {
		c.t.Error(err)
	}
	return err == nil
}

func (c *queueClients) runStep(l *Ledger, round int) {
	switch rand.IntN(10) {
	case 0, 1:
		c.enqueue(l, round)
	case 2, 3, 4:
		c.claim(l, 1+rand.IntN(4))
	case 5:
		c.operate(l)
	case 6:
		c.readRandomTask(l)
	default:
		c.endAttempt(l)
	}
}

func (c *queueClients) enqueue(l *Ledger, round int) {
	var batch []taskqueue.NewTask
	for _, i := range rand.Perm(2 * keysPerTopic)[:1+rand.IntN(3)] {
		task := newTask(fmt.Sprint("t", i%2), fmt.Sprint(round, "-", i))
		task.MaxTries, task.Priority = taskqueue.MaxTriesLimit, int64(i%3)
		batch = append(batch, task)
	}
	begun := c.start()
	accepted, err := l.Tasks.Enqueue(c.t.Context(), batch)
	if !c.reported(err) {
		return
	}
	for i, a := range accepted {
		c.recordKey(batch[i].Key, begun, didEnqueue{}, a)
		c.addKey(a.ID, batch[i].Key)
	}
}

func (c *queueClients) addKey(id, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids[id] = key
}

// fillQueue enqueues the tasks of the ordered line, in the order of their numbers.
func (c *queueClients) fillQueue(l *Ledger) {
	for n := 1; n <= orderedTaskCount && !c.t.Failed(); {
		_, err := l.Tasks.Enqueue(c.t.Context(), []taskqueue.NewTask{{
			Game: game, Topic: c.orderedTopic, Key: fmt.Sprint(n), Ordering: taskqueue.Ordered, MaxTries: taskqueue.MaxTriesLimit, Payload: []byte("1"),
		}})
		if c.reported(err) {
			n++
		}
	}
}

// recordOperation notes a deed about a task.
func (c *queueClients) recordOperation(t *taskqueue.Task, begun int64, d operation, gave any) {
	if t.Topic == c.orderedTopic {
		number, err := strconv.Atoi(t.Key)
		if err != nil {
			c.t.Error(err)
		}
		c.recordQueue(number, begun, d, gave)
		return
	}
	c.recordKey(t.Key, begun, d, gave)
}

func (c *queueClients) claim(l *Ledger, n int) (many int) {
	begun := c.start()
	tasks, err := l.Claims.Claim(c.t.Context(), kind, n, lease)
	if !c.reported(err) {
		return 0
	}
	for i := range tasks {
		c.recordOperation(&tasks[i], begun, didClaim{}, tasks[i])
	}
	c.addClaimed(tasks...)
	return len(tasks)
}

func (c *queueClients) addClaimed(tasks ...taskqueue.Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leases = append(c.leases, tasks...)
}

// takeClaimed takes up to n of the leases that anybody means to hold.
func (c *queueClients) takeClaimed(n int) (tasks []taskqueue.Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range min(n, len(c.leases)) {
		i := rand.IntN(len(c.leases))
		tasks = append(tasks, c.leases[i])
		c.leases = slices.Delete(c.leases, i, i+1)
	}
	return tasks
}

// endAttempt renews or ends some tries. Leases that are over are tried again now and
// then, as late workers do.
func (c *queueClients) endAttempt(l *Ledger) {
	ctx, tasks := c.t.Context(), c.takeClaimed(1+rand.IntN(3))
	if len(tasks) == 0 {
		return
	}
	leases, now, begun := taskLeases(tasks), c.now.Load(), c.start()
	var lost []taskqueue.Lease
	var err error
	var did func(taskqueue.Lease) operation
	renew := false
	switch rand.IntN(8) {
	case 0, 1:
		renew = true
		lost, err = l.Claims.Renew(ctx, leases, lease)
		did = func(of taskqueue.Lease) operation { return didRenew{of, now + lease.Milliseconds()} }
	case 2:
		lost, err = returnTasks(ctx, l.Claims, leases)
		did = func(of taskqueue.Lease) operation { return didReturn{of} }
	case 3, 4:
		wait, final := time.Duration(rand.Int64N(int64(lease))), rand.IntN(4) == 0
		lost, err = l.Claims.Fail(ctx, failures(leases, wait, final))
		did = func(of taskqueue.Lease) operation { return didFail{of, now + wait.Milliseconds(), final} }
	default:
		lost, err = l.Claims.Complete(ctx, leases)
		did = func(of taskqueue.Lease) operation { return didComplete{of, now} }
	}
	if !c.reported(err) {
		c.addClaimed(tasks...)
		return
	}
	for i := range tasks {
		held := !slices.Contains(lost, leases[i])
		c.recordOperation(&tasks[i], begun, did(leases[i]), held)
		if renew && held || tasks[i].Topic != c.orderedTopic && rand.IntN(4) == 0 {
			c.addClaimed(tasks[i])
		}
	}
}

func failures(leases []taskqueue.Lease, wait time.Duration, final bool) (failed []taskqueue.FailedAttempt) {
	for _, lease := range leases {
		failed = append(failed, taskqueue.FailedAttempt{Lease: lease, Err: errors.New("why"), Wait: wait, Final: final})
	}
	return failed
}

// randomTask is a task that was accepted, not of the ordered line.
func (c *queueClients) randomTask() (id, key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, key = range c.ids {
		break
	}
	return id, key
}

func answerOf(t *taskqueue.Task, err error) (answer, bool) {
	for _, is := range []error{taskqueue.ErrNotFound, taskqueue.ErrDone} {
		if errors.Is(err, is) {
			return answer{err: is}, true
		}
	}
	return answer{shownState: shownState{t.State, t.Fence}}, false
}

func (c *queueClients) operate(l *Ledger) {
	id, key := c.randomTask()
	if id == "" {
		return
	}
	change := (*taskqueue.Task).Requeue
	if rand.IntN(3) == 0 {
		change = (*taskqueue.Task).Discard
	}
	did, begun := didChange{id, c.now.Load(), change}, c.start()
	t, err := l.Tasks.ChangeTask(c.t.Context(), id, change)
	if gave, refused := answerOf(&t, err); refused || c.reported(err) {
		c.recordKey(key, begun, did, gave)
	}
}

func (c *queueClients) readRandomTask(l *Ledger) {
	if id, key := c.randomTask(); id != "" {
		c.readTask(l, id, key)
	}
}

func (c *queueClients) readTask(l *Ledger, id, key string) {
	begun := c.start()
	t, err := l.Tasks.Task(c.t.Context(), id)
	if gave, refused := answerOf(&t, err); refused || c.reported(err) {
		c.recordKey(key, begun, didRead{id}, gave)
	}
}

// runMaintenance is the keeper, whose rounds go on while anybody works.
func (c *queueClients) runMaintenance(l *Ledger) {
	for c.working.Load() > 0 && !c.t.Failed() {
		d := []time.Duration{lease / 4, lease / 2, lease}[rand.IntN(3)]
		if rand.IntN(10) == 0 {
			d, c.skippedTTL = keyTTL+lease, true
		}
		c.maintain(l, d)
	}
}

// watchCursors checks while others work that the cursors of queues only move forward.
func (c *queueClients) watchCursors(l *Ledger) {
	seen, forgotten := map[taskqueue.QueueID]taskqueue.Queue{}, 0
	for c.working.Load() > 0 && !c.t.Failed() {
		c.checkCursors(l, seen, &forgotten)
		time.Sleep(time.Millisecond) // so that the database can do other work
	}
}

// checkCursors compares all queues with those that were seen before. A queue that was deleted begins again.
func (c *queueClients) checkCursors(l *Ledger, seen map[taskqueue.QueueID]taskqueue.Queue, forgotten *int) {
	c.forgetting.RLock()
	defer c.forgetting.RUnlock()
	if c.forgotten != *forgotten {
		clear(seen)
		*forgotten = c.forgotten
	}
	queues, _, err := l.Tasks.Queues(c.t.Context(), taskqueue.QueueFilter{}, "", 100)
	if !c.reported(err) {
		return
	}
	for _, now := range queues {
		was := seen[now.QueueID]
		if now.Pos < was.Pos || now.Scan < was.Scan-1 || now.Done < was.Done || now.Done > now.Scan || now.Scan > now.Pos {
			c.t.Errorf("queue %+v after %+v", now, was)
		}
		seen[now.QueueID] = now
	}
}

// maintain passes some time and does what is due then.
func (c *queueClients) maintain(l *Ledger, d time.Duration) {
	at := c.now.Load() + d.Milliseconds()
	if _, err := l.exec(c.t.Context(), "UPDATE test_clock SET ms = $1", at); !c.reported(err) {
		return
	}
	c.now.Store(at)
	begun := c.start()
	if _, err := l.Maintenance.ReturnDue(c.t.Context(), 1000); c.reported(err) {
		c.recordAll(begun, didMaintain{at})
	}
	c.forgetting.Lock()
	defer c.forgetting.Unlock()
	begun = c.start()
	deleted, err := l.Maintenance.ForgetTasks(c.t.Context(), 1000)
	if err != nil || deleted > 0 {
		c.forgotten++
	}
	if c.reported(err) && c.skippedTTL {
		c.recordAll(begun, didForget{at})
	}
}

// finish works off what is left, and looks at all there is.
func (c *queueClients) finish() {
	l := c.nodes[0]
	for many, rounds := 1, 0; many > 0 && !c.t.Failed(); rounds++ {
		if rounds == 1000 {
			c.t.Fatal("the queue does not become empty")
		}
		c.maintain(l, 2*lease)
		many = c.claim(l, 100)
		c.leases = c.leases[max(0, len(c.leases)-many):]
		for len(c.leases) > 0 {
			c.endAttempt(l)
		}
		left, _, err := l.Maintenance.Depth(c.t.Context(), taskqueue.StateLater, 1)
		c.reported(err)
		many += int(left)
	}
	for id, key := range c.ids {
		c.readTask(l, id, key)
	}
	c.maintain(l, 0)
	for _, queue := range listQueuesOf(c.t, l, taskqueue.QueueFilter{}) {
		if queue.Done != queue.Pos || !strings.HasPrefix(queue.Topic, kind) {
			c.t.Errorf("at the end %+v", queue)
		}
	}
}
