package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// concurrentQueue runs producers, workers, maintainers and readers of several processes on one
// queue.
type concurrentQueue struct {
	t           *testing.T
	processes   []*Ledger
	producing   atomic.Int64
	uncompleted atomic.Int64 // tasks accepted and not completed

	mu            sync.Mutex
	leases        map[taskqueue.Lease]bool // leases of all claims so far
	completedKeys map[string]bool
}

const rushTaskCount = 80

// Many processes enqueue, claim, fail, complete and maintain concurrently. No lease is
// given twice, and each task is completed once. Ordered queues run one task at a time,
// in order, and cursors only move forward.
func TestConcurrentProcessesShareAQueue(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		r := &concurrentQueue{t: t, processes: []*Ledger{openLedger(t, db), openLedger(t, db)}, leases: map[taskqueue.Lease]bool{}, completedKeys: map[string]bool{}}
		const producers, workers = 3, 6
		r.producing.Store(producers)
		runConcurrently(producers+workers+2, func(i int) {
			l := r.processes[i%2]
			switch {
			case i < producers:
				r.produce(l, i)
			case i < producers+workers:
				r.work(l)
			case i == producers+workers:
				r.runMaintenance(l)
			default:
				r.watch(l)
			}
		})
		r.checkEnd()
	})
}

func (r *concurrentQueue) isOver() bool {
	return r.t.Failed() || r.producing.Load() == 0 && r.uncompleted.Load() == 0
}

// try repeats a call while the database is unavailable.
func (r *concurrentQueue) try(f func() error) {
	for err := f(); err != nil; err = f() {
		if !IsUnavailable(err) || r.t.Context().Err() != nil {
			r.t.Error(err)
			return
		}
	}
}

func (r *concurrentQueue) produce(l *Ledger, producer int) {
	defer r.producing.Add(-1)
	for n := 0; n < rushTaskCount && !r.t.Failed(); {
		var batch []taskqueue.NewTask
		for range min(1+rand.IntN(10), rushTaskCount-n) {
			task := newTask(fmt.Sprint("t", rand.IntN(5)), fmt.Sprint(producer, "-", n))
			task.Priority = rand.Int64N(2)
			if rand.IntN(10) == 0 {
				task.Topic, task.Ordering = kind+"/ordered", taskqueue.Ordered
			}
			task.MaxTries = taskqueue.MaxTriesLimit
			batch = append(batch, task)
			n++
		}
		r.uncompleted.Add(int64(len(batch)))
		r.try(func() error {
			_, err := l.Tasks.Enqueue(r.t.Context(), batch)
			return err
		})
	}
}

func (r *concurrentQueue) work(l *Ledger) {
	for !r.isOver() {
		var tasks []taskqueue.Task
		r.try(func() (err error) {
			tasks, err = l.Claims.Claim(r.t.Context(), kind, 1+rand.IntN(20), lease)
			return err
		})
		r.recordClaimed(tasks)
		if len(tasks) == 0 {
			time.Sleep(time.Millisecond) // until there may be more to claim
			continue
		}
		var good []taskqueue.Lease
		var bad []taskqueue.FailedAttempt
		for _, t := range tasks {
			if rand.IntN(10) == 0 {
				bad = append(bad, taskqueue.FailedAttempt{Lease: t.Lease(), Err: errors.New("why")})
			} else {
				good = append(good, t.Lease())
			}
		}
		r.try(func() error { return r.checkLeases(l.Claims.Fail(r.t.Context(), bad)) })
		r.try(func() error { return r.checkLeases(l.Claims.Complete(r.t.Context(), good)) })
		r.recordCompleted(good)
	}
}

func (r *concurrentQueue) checkLeases(lost []taskqueue.Lease, err error) error {
	if len(lost) > 0 {
		r.t.Errorf("lost %v", lost)
	}
	return err
}

func (r *concurrentQueue) recordClaimed(tasks []taskqueue.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ordered := map[int64]int{}
	for _, t := range tasks {
		if r.leases[t.Lease()] {
			r.t.Errorf("lease %v was given twice", t.Lease())
		}
		r.leases[t.Lease()] = true
		if t.Ordering == taskqueue.Ordered {
			if ordered[t.Priority]++; ordered[t.Priority] > 1 {
				r.t.Errorf("two of an ordered line at once: %+v", t)
			}
		}
	}
}

func (r *concurrentQueue) recordCompleted(leases []taskqueue.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, lease := range leases {
		if r.completedKeys[lease.ID] {
			r.t.Errorf("task %s was completed twice", lease.ID)
		}
		r.completedKeys[lease.ID] = true
		r.uncompleted.Add(-1)
	}
}

func (r *concurrentQueue) runMaintenance(l *Ledger) {
	for !r.isOver() {
		r.try(func() error {
			_, err := l.Maintenance.ReturnDue(r.t.Context(), 100)
			return err
		})
		time.Sleep(time.Millisecond) // so that the database can do other work
	}
}

func (r *concurrentQueue) watch(l *Ledger) {
	seen := map[taskqueue.QueueID]taskqueue.Queue{}
	for !r.isOver() {
		queues, _, err := l.Tasks.Queues(r.t.Context(), taskqueue.QueueFilter{}, "", 100)
		if err != nil {
			r.t.Error(err)
			return
		}
		for _, now := range queues {
			was := seen[now.QueueID]
			if now.Pos < was.Pos || now.Scan < was.Scan-1 || now.Done < was.Done || now.Done > now.Scan || now.Scan > now.Pos {
				r.t.Errorf("queue %+v after %+v", now, was)
			}
			seen[now.QueueID] = now
		}
		time.Sleep(time.Millisecond) // so that the database can do other work
	}
}

func (r *concurrentQueue) checkEnd() {
	r.t.Helper()
	l, n := r.processes[0], 0
	for state, want := range map[taskqueue.State]int64{taskqueue.StateDone: 3 * rushTaskCount, taskqueue.StateWaiting: 0, taskqueue.StateClaimed: 0, taskqueue.StateLater: 0, taskqueue.StateDead: 0} {
		if many, _, err := l.Maintenance.Depth(r.t.Context(), state, 100_000); err != nil || many != want {
			r.t.Errorf("%d tasks are %s, %v, want %d", many, state, err, want)
		}
	}
	for _, queue := range listQueuesOf(r.t, l, taskqueue.QueueFilter{}) {
		if n++; queue.Done != queue.Pos {
			r.t.Errorf("at the end %+v", queue)
		}
	}
	if n == 0 || len(r.completedKeys) != 3*rushTaskCount {
		r.t.Errorf("%d lines, %d tasks done", n, len(r.completedKeys))
	}
}

// Several processes enqueue one key at the same time. Only one task is created.
func TestConcurrentEnqueuesOfAKeyMakeOneTask(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		processes := []*Ledger{openLedger(t, db), openLedger(t, db)}
		for round := range 10 {
			var mu sync.Mutex
			ids, fresh := map[string]bool{}, 0
			runConcurrently(6, func(i int) {
				in, err := processes[i%2].Tasks.Enqueue(t.Context(), []taskqueue.NewTask{newTask("a", fmt.Sprint(round)), newTask("b", fmt.Sprint(round))})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				for _, a := range in {
					ids[a.ID] = true
					if a.New {
						fresh++
					}
				}
			})
			if len(ids) != 2 || fresh != 2 {
				t.Errorf("%d tasks, %d of them new", len(ids), fresh)
			}
		}
	})
}
