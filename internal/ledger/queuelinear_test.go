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

// recorder runs producers, workers, operators and a maintainer of two processes on one
// queue, and records the history. The maintainer advances the clock. Often that is longer
// than the leases of workers, and sometimes longer than keyTTL.
type recorder struct {
	*historyRecorder

	t       *testing.T
	nodes   []*Ledger
	line    string // the ordered topic
	now     atomic.Int64
	working atomic.Int64
	leapt   bool // the clock was advanced by more than keyTTL; used by the maintainer only

	mu     sync.Mutex
	leases []taskqueue.Task // claimed tasks, also those whose leases have ended
	ids    map[string]string
}

const (
	testSteps = 60 // steps of each worker
	testKeys  = 6  // keys of each of two topics
	lineTasks = 12
)

// Producers, workers, late workers, operators and a maintainer run concurrently. The
// queue answers as if it had handled the calls one after another, and ordered queues run
// tasks in order.
func TestQueueIsLinearizable(t *testing.T) {
	t.Parallel()
	eachQueue(t, func(t *testing.T, q *queued) {
		for round := range queueRounds(2) {
			r := &recorder{
				historyRecorder: newWitness(), t: t, nodes: []*Ledger{q.Ledger, q.openSecond()}, line: fmt.Sprint(kind, "/line", round), ids: map[string]string{},
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
func (q *queued) openSecond() *Ledger {
	q.t.Helper()
	return openWith(q.t, Config{URL: q.db.URL, Dir: q.db.Dir, clock: testClock})
}

func (r *recorder) run(round int) {
	r.t.Helper()
	const workers = 6
	r.working.Store(workers)
	atOnceN(workers+2, func(i int) {
		switch node := r.nodes[i%2]; {
		case i < workers:
			defer r.working.Add(-1)
			for range testSteps {
				r.step(node, round)
			}
		case i == workers:
			r.fill(node)
		default:
			r.keep(node)
		}
	})
	r.finish()
}

// reported reports whether the queue has given an answer. A call that failed because the
// database was unavailable has changed nothing.
func (r *recorder) reported(err error) bool {
	if err != nil && !Unavailable(err) {
		r.t.Error(err)
	}
	return err == nil
}

func (r *recorder) step(l *Ledger, round int) {
	switch rand.IntN(10) {
	case 0, 1:
		r.enqueue(l, round)
	case 2, 3, 4:
		r.claim(l, 1+rand.IntN(4))
	case 5:
		r.operate(l)
	case 6:
		r.look(l)
	default:
		r.endTry(l)
	}
}

func (r *recorder) enqueue(l *Ledger, round int) {
	var batch []taskqueue.NewTask
	for _, i := range rand.Perm(2 * testKeys)[:1+rand.IntN(3)] {
		task := work(fmt.Sprint("t", i%2), fmt.Sprint(round, "-", i))
		task.MaxTries, task.Priority = taskqueue.TriesLimit, int64(i%3)
		batch = append(batch, task)
	}
	begun := r.begin()
	accepted, err := l.Enqueue(r.t.Context(), batch)
	if !r.reported(err) {
		return
	}
	for i, a := range accepted {
		r.recordKey(batch[i].Key, begun, didEnqueue{}, a)
		r.know(a.ID, batch[i].Key)
	}
}

func (r *recorder) know(id, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[id] = key
}

// fill enqueues the tasks of the ordered line, in the order of their numbers.
func (r *recorder) fill(l *Ledger) {
	for n := 1; n <= lineTasks && !r.t.Failed(); {
		_, err := l.Enqueue(r.t.Context(), []taskqueue.NewTask{{
			Game: game, Topic: r.line, Key: fmt.Sprint(n), Ordering: taskqueue.Ordered, MaxTries: taskqueue.TriesLimit, Payload: []byte("1"),
		}})
		if r.reported(err) {
			n++
		}
	}
}

// note notes a deed about a task.
func (r *recorder) note(t *taskqueue.Task, begun int64, d operation, gave any) {
	if t.Topic == r.line {
		number, err := strconv.Atoi(t.Key)
		if err != nil {
			r.t.Error(err)
		}
		r.recordQueue(number, begun, d, gave)
		return
	}
	r.recordKey(t.Key, begun, d, gave)
}

func (r *recorder) claim(l *Ledger, n int) (many int) {
	begun := r.begin()
	tasks, err := l.Claim(r.t.Context(), kind, n, lease)
	if !r.reported(err) {
		return 0
	}
	for i := range tasks {
		r.note(&tasks[i], begun, didClaim{}, tasks[i])
	}
	r.hold(tasks...)
	return len(tasks)
}

func (r *recorder) hold(tasks ...taskqueue.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases = append(r.leases, tasks...)
}

// take takes up to n of the leases that anybody means to hold.
func (r *recorder) take(n int) (tasks []taskqueue.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range min(n, len(r.leases)) {
		i := rand.IntN(len(r.leases))
		tasks = append(tasks, r.leases[i])
		r.leases = slices.Delete(r.leases, i, i+1)
	}
	return tasks
}

// endTry renews or ends some tries. Leases that are over are tried again now and
// then, as late workers do.
func (r *recorder) endTry(l *Ledger) {
	ctx, tasks := r.t.Context(), r.take(1+rand.IntN(3))
	if len(tasks) == 0 {
		return
	}
	leases, now, begun := leasesOf(tasks), r.now.Load(), r.begin()
	var lost []taskqueue.Lease
	var err error
	var did func(taskqueue.Lease) operation
	renew := false
	switch rand.IntN(8) {
	case 0, 1:
		renew = true
		lost, err = l.Renew(ctx, leases, lease)
		did = func(of taskqueue.Lease) operation { return didRenew{of, now + lease.Milliseconds()} }
	case 2:
		lost, err = l.Return(ctx, leases)
		did = func(of taskqueue.Lease) operation { return didReturn{of} }
	case 3, 4:
		wait, final := time.Duration(rand.Int64N(int64(lease))), rand.IntN(4) == 0
		lost, err = l.Fail(ctx, failures(leases, wait, final))
		did = func(of taskqueue.Lease) operation { return didFail{of, now + wait.Milliseconds(), final} }
	default:
		lost, err = l.Complete(ctx, leases)
		did = func(of taskqueue.Lease) operation { return didComplete{of, now} }
	}
	if !r.reported(err) {
		r.hold(tasks...)
		return
	}
	for i := range tasks {
		held := !slices.Contains(lost, leases[i])
		r.note(&tasks[i], begun, did(leases[i]), held)
		if renew && held || tasks[i].Topic != r.line && rand.IntN(4) == 0 {
			r.hold(tasks[i])
		}
	}
}

func failures(leases []taskqueue.Lease, wait time.Duration, final bool) (failed []taskqueue.FailedAttempt) {
	for _, lease := range leases {
		failed = append(failed, taskqueue.FailedAttempt{Lease: lease, Err: errors.New("why"), Wait: wait, Final: final})
	}
	return failed
}

// some is a task that was accepted, not of the ordered line.
func (r *recorder) some() (id, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, key = range r.ids {
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
	return answer{shownStand: shownStand{t.State, t.Fence}}, false
}

func (r *recorder) operate(l *Ledger) {
	id, key := r.some()
	if id == "" {
		return
	}
	change := (*taskqueue.Task).Requeue
	if rand.IntN(3) == 0 {
		change = (*taskqueue.Task).Discard
	}
	did, begun := didChange{id, r.now.Load(), change}, r.begin()
	t, err := l.ChangeTask(r.t.Context(), id, change)
	if gave, refused := answerOf(&t, err); refused || r.reported(err) {
		r.recordKey(key, begun, did, gave)
	}
}

func (r *recorder) look(l *Ledger) {
	if id, key := r.some(); id != "" {
		r.lookAt(l, id, key)
	}
}

func (r *recorder) lookAt(l *Ledger, id, key string) {
	begun := r.begin()
	t, err := l.Task(r.t.Context(), id)
	if gave, refused := answerOf(&t, err); refused || r.reported(err) {
		r.recordKey(key, begun, didLook{id}, gave)
	}
}

// keep is the keeper, whose rounds go on while anybody works.
func (r *recorder) keep(l *Ledger) {
	for r.working.Load() > 0 && !r.t.Failed() {
		d := []time.Duration{lease / 4, lease / 2, lease}[rand.IntN(3)]
		if rand.IntN(10) == 0 {
			d, r.leapt = keyTTL+lease, true
		}
		r.maintain(l, d)
	}
}

// maintain passes some time and does what is due then.
func (r *recorder) maintain(l *Ledger, d time.Duration) {
	at := r.now.Load() + d.Milliseconds()
	if _, err := l.exec(r.t.Context(), "UPDATE test_clock SET ms = $1", at); !r.reported(err) {
		return
	}
	r.now.Store(at)
	begun := r.begin()
	if _, err := l.ReturnDue(r.t.Context(), 1000); r.reported(err) {
		r.recordAll(begun, didMaintain{at})
	}
	_, _, _, err := l.MoveDone(r.t.Context(), taskqueue.QueueID{}, 1000)
	r.reported(err)
	begun = r.begin()
	if _, err := l.ForgetTasks(r.t.Context(), 1000); r.reported(err) && r.leapt {
		r.recordAll(begun, didForget{at})
	}
}

// finish works off what is left, and looks at all there is.
func (r *recorder) finish() {
	l := r.nodes[0]
	for many, rounds := 1, 0; many > 0 && !r.t.Failed(); rounds++ {
		if rounds == 1000 {
			r.t.Fatal("the queue does not become empty")
		}
		r.maintain(l, 2*lease)
		many = r.claim(l, 100)
		r.leases = r.leases[max(0, len(r.leases)-many):]
		for len(r.leases) > 0 {
			r.endTry(l)
		}
		left, _, err := l.Depth(r.t.Context(), taskqueue.Later, 1)
		r.reported(err)
		many += int(left)
	}
	for id, key := range r.ids {
		r.lookAt(l, id, key)
	}
	r.maintain(l, 0)
	for _, line := range linesWhere(r.t, l, taskqueue.QueueFilter{}) {
		if line.Done != line.Pos || !strings.HasPrefix(line.Topic, kind) {
			r.t.Errorf("at the end %+v", line)
		}
	}
}
