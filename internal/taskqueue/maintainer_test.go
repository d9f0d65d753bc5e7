package taskqueue

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func doNothing(context.Context, Task) error { return nil }

// Metrics show waiting tasks by kind, for a bounded number of kinds.
func TestBacklogMetricsHaveALimitedNumberOfKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryQueue(0)
		for i := range maxShownKinds + 3 {
			s.backlogs = append(s.backlogs, Backlog{fmt.Sprintf("k%03d", i), 1, 10})
		}
		r := startWorkers(t, s, KindConfig{Handle: doNothing})
		synctest.Wait()
		for kind, want := range map[string]float64{"k000": 1, "k099": 1, otherKind: 3} {
			if lines, tasks := metricValue(t, r.registry, "ready_queues", kind), metricValue(t, r.registry, "backlog", kind); lines != want || tasks != 10*want {
				t.Errorf("%s: %v queues, %v tasks", kind, lines, tasks)
			}
		}
		r.mu.Lock()
		r.backlogs = []Backlog{{"a", 0, 0}}
		r.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		families, err := r.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if name := f.GetName(); (name == metricPrefix+"ready_queues" || name == metricPrefix+"backlog") && len(f.Metric) != 1 {
				t.Errorf("%s has %d kinds, want 1", name, len(f.Metric))
			}
		}
		r.stop(t)
	})
}

// The tasks of a busy queue are counted at most once per countInterval, although each notification starts a
// round of maintenance.
func TestABusyQueueIsCountedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryQueue(0)
		r := startWorkers(t, s, KindConfig{Handle: doNothing})
		for range 300 {
			r.notifier.Notify("")
			time.Sleep(time.Second)
		}
		if n, rounds := s.callCount("backlogs"), s.callCount("next"); n < 2 || n > 31 || rounds < 100 {
			t.Errorf("counted %d times in %d rounds within 5 minutes", n, rounds)
		}
		r.stop(t)
	})
}

// A due task returns to the queue on time, not at the next poll.
func TestADueTaskReturnsOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryQueue(1)
		s.tasks[0].State, s.tasks[0].DueAt = StateLater, time.Now().Add(20*time.Second).UnixMilli()
		r := startWorkers(t, s, KindConfig{Handle: doNothing})
		time.Sleep(19 * time.Second)
		r.wantTasks(t, StateLater, 1)
		if n := s.callCount("due"); n != 0 {
			t.Errorf("%d calls of ReturnDue before a task was due", n)
		}
		time.Sleep(1100 * time.Millisecond)
		r.wantTasks(t, StateDone, 1)
		r.stop(t)
	})
}

// A task whose lease ends is dead after its last try, and returns to the queue before that.
func TestATaskWhoseLastLeaseEndsIsDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryQueue(2)
		for i, maxTries := range []int64{1, 2} {
			s.tasks[i].State, s.tasks[i].DueAt, s.tasks[i].MaxTries = StateClaimed, time.Now().Add(time.Second).UnixMilli(), maxTries
		}
		r := startWorkers(t, s, KindConfig{Handle: doNothing})
		time.Sleep(3 * time.Second)
		r.wantTasks(t, StateDead, 1)
		r.wantTasks(t, StateDone, 1)
		if back, dead := metricValue(t, r.registry, "requeues_total", ""), metricValue(t, r.registry, "expirations_total", ""); back != 1 || dead != 1 {
			t.Errorf("%v tasks were requeued and %v are dead", back, dead)
		}
		r.stop(t)
	})
}

// endingStore is a store whose NextDue returns only when its context ends.
type endingStore struct{ *memoryQueue }

func (endingStore) NextDue(ctx context.Context) (time.Duration, bool, error) {
	<-ctx.Done()
	return 0, false, ctx.Err()
}

// A maintainer that stops during a call logs no failure.
func TestAStopLogsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		maintainer := NewMaintainer(MaintainerConfig{Store: endingStore{newMemoryQueue(0)}, Notifier: &Notifier{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, end := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, end)
		if err := maintainer.Run(ctx); err != nil || log.Len() > 0 {
			t.Errorf("Run returned %v and logged %q", err, log.String())
		}
	})
}
