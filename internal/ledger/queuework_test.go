package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// Workers and maintainers of two processes complete all tasks, each after as many
// attempts as it needs. When they stop, they return the tasks that they have not
// completed.
func TestWorkersOfTwoProcessesCompleteAllTasks(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		const tasks = 60
		s := &workerNodes{tries: map[string]int{}, held: make(chan struct{})}
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var batchers []*taskqueue.Batcher
		for range 2 {
			batchers = append(batchers, s.open(ctx, t, db, &running))
		}
		runConcurrently(tasks, func(i int) {
			if _, err := batchers[i%2].Enqueue(t.Context(), newTask(fmt.Sprint(i%7), fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
		stuck := must(batchers[0].Enqueue(t.Context(), newTask("stuck", "stuck")))(t)
		l := openLedger(t, db)
		waitUntil(t, func() bool {
			done, _, err := l.Maintenance.Depth(t.Context(), taskqueue.StateDone, 1000)
			return err == nil && done == tasks && s.isHeld()
		})
		end()
		running.Wait()
		if task := must(l.Tasks.Task(t.Context(), stuck.ID))(t); task.State != taskqueue.StateWaiting || task.Tries != 0 {
			t.Errorf("at the end the task under way is %+v", task)
		}
		for key, tries := range s.tries {
			if key != "stuck" && tries != 2 {
				t.Errorf("task %s was tried %d times", key, tries)
			}
		}
	})
}

// workerNodes runs worker nodes whose handler fails each task once, and blocks on one task.
type workerNodes struct {
	held chan struct{}

	mu    sync.Mutex
	tries map[string]int
}

func (s *workerNodes) open(ctx context.Context, t *testing.T, db testenv.SQL, running *sync.WaitGroup) *taskqueue.Batcher {
	t.Helper()
	notifier := &taskqueue.Notifier{}
	l := openConfig(t, Config{URL: db.URL, Dir: db.Dir, NotifyTopic: notifier.Notify})
	log := slog.New(slog.DiscardHandler)
	maintainer := taskqueue.NewMaintainer(taskqueue.MaintainerConfig{Store: l.Maintenance, Notifier: notifier, Logger: log, Registry: prometheus.NewRegistry()})
	workers := taskqueue.NewWorkers(taskqueue.Config{
		Store: l.Claims, Notifier: notifier, GracePeriod: time.Millisecond, Logger: log, Registry: prometheus.NewRegistry(),
		Kinds: []taskqueue.KindConfig{{Kind: kind, Handle: s.try, Backoff: taskqueue.Backoff{First: time.Millisecond, Max: time.Millisecond}}},
	})
	for _, run := range []func(context.Context) error{maintainer.Run, workers.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	return taskqueue.NewBatcher(l.Tasks)
}

func (s *workerNodes) try(ctx context.Context, task taskqueue.Task) error {
	s.mu.Lock()
	s.tries[task.Key]++
	first := s.tries[task.Key] == 1
	s.mu.Unlock()
	if task.Key == "stuck" {
		close(s.held)
		<-ctx.Done()
		return ctx.Err()
	}
	if first {
		return errors.New("not at once")
	}
	return nil
}

func (s *workerNodes) isHeld() bool {
	select {
	case <-s.held:
		return true
	default:
		return false
	}
}

// waitUntil waits until a condition is true.
func waitUntil(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about")
		}
	}
}
