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
		store := newMemoryQueue(0)
		for i := range maxShownKinds + 3 {
			store.backlogs = append(store.backlogs, Backlog{fmt.Sprintf("k%03d", i), 1, 10})
		}
		workers := startWorkers(t, store, KindConfig{Handle: doNothing})
		synctest.Wait()
		for kind, want := range map[string]float64{"k000": 1, "k099": 1, otherKind: 3} {
			if queues, tasks := metricValue(t, workers.registry, "ready_queues", kind), metricValue(t, workers.registry, "backlog", kind); queues != want || tasks != 10*want {
				t.Errorf("%s: %v queues, %v tasks", kind, queues, tasks)
			}
		}
		workers.mu.Lock()
		workers.backlogs = []Backlog{{"a", 0, 0}}
		workers.mu.Unlock()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		families, err := workers.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if name := family.GetName(); (name == metricPrefix+"ready_queues" || name == metricPrefix+"backlog") && len(family.Metric) != 1 {
				t.Errorf("%s has %d kinds, want 1", name, len(family.Metric))
			}
		}
	})
}

// Tasks are counted at most once per cleanupInterval, although due tasks return each second.
func TestTasksAreCountedRarely(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryQueue(0)
		startWorkers(t, store, KindConfig{Handle: doNothing})
		time.Sleep(5 * time.Minute)
		if n, rounds := store.callCount("backlogs"), store.callCount("due"); n < 29 || n > 31 || rounds < 299 {
			t.Errorf("counted %d times in %d rounds within 5 minutes", n, rounds)
		}
	})
}

// A due task returns to the queue within a second, not at the next poll.
func TestADueTaskReturnsOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryQueue(1)
		store.tasks[0].State, store.tasks[0].DueAt = StateLater, time.Now().Add(20*time.Second).UnixMilli()
		workers := startWorkers(t, store, KindConfig{Handle: doNothing})
		time.Sleep(19 * time.Second)
		workers.wantTasks(t, StateLater, 1)
		time.Sleep(1100 * time.Millisecond)
		workers.wantTasks(t, StateDone, 1)
	})
}

// A task whose lease ends is dead after its last try, and returns to the queue before that.
func TestATaskWhoseLastLeaseEndsIsDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newMemoryQueue(2)
		for i, maxTries := range []int64{1, 2} {
			store.tasks[i].State, store.tasks[i].DueAt, store.tasks[i].MaxTries = StateClaimed, time.Now().Add(time.Second).UnixMilli(), maxTries
		}
		workers := startWorkers(t, store, KindConfig{Handle: doNothing})
		time.Sleep(3 * time.Second)
		workers.wantTasks(t, StateDead, 1)
		workers.wantTasks(t, StateDone, 1)
		if requeued, dead := metricValue(t, workers.registry, "requeues_total", ""), metricValue(t, workers.registry, "expirations_total", ""); requeued != 1 || dead != 1 {
			t.Errorf("%v tasks were requeued and %v are dead", requeued, dead)
		}
	})
}

// endingStore is a store whose ReturnDue returns only when its context ends.
type endingStore struct{ *memoryQueue }

func (endingStore) ReturnDue(ctx context.Context, _ int) (DueCounts, error) {
	<-ctx.Done()
	return DueCounts{}, ctx.Err()
}

// A maintainer that stops during a call logs no failure.
func TestStoppingTheMaintainerLogsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		maintainer := NewMaintainer(MaintainerConfig{Store: endingStore{newMemoryQueue(0)}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, end := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, end)
		if err := maintainer.Run(ctx); err != nil || log.Len() > 0 {
			t.Errorf("Run returned %v and logged %q", err, log.String())
		}
	})
}
