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

func nothing(context.Context, Task) error { return nil }

// Metrics show waiting tasks by kind, for a bounded number of kinds.
func TestBacklogsAreShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(0)
		for i := range maxShownKinds + 3 {
			s.backlogs = append(s.backlogs, Backlog{fmt.Sprintf("k%03d", i), 1, 10})
		}
		r := run(t, s, Service{Handle: nothing})
		synctest.Wait()
		for kind, want := range map[string]float64{"k000": 1, "k099": 1, otherKind: 3} {
			if lines, tasks := count(t, r.registry, "ready_queues", kind), count(t, r.registry, "backlog", kind); lines != want || tasks != 10*want {
				t.Errorf("%s: %v lines, %v tasks", kind, lines, tasks)
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
			if name := f.GetName(); (name == prefix+"ready_queues" || name == prefix+"backlog") && len(f.Metric) != 1 {
				t.Errorf("%s has %d kinds, want 1", name, len(f.Metric))
			}
		}
		r.stop(t)
	})
}

// A busy queue is not counted continuously.
func TestCountsAreRare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(0)
		r := run(t, s, Service{Handle: nothing})
		for range 300 {
			r.notifier.Notify("")
			time.Sleep(time.Second)
		}
		if n, rounds := s.asked("backlogs"), s.asked("next"); n < 2 || n > 31 || rounds < 100 {
			t.Errorf("counted %d times in %d rounds of 5 minutes", n, rounds)
		}
		r.stop(t)
	})
}

// A due task returns to the queue on time, not at the next poll.
func TestMaintainerIsOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(1)
		s.tasks[0].State, s.tasks[0].DueAt = Later, time.Now().Add(20*time.Second).UnixMilli()
		r := run(t, s, Service{Handle: nothing})
		time.Sleep(19 * time.Second)
		r.want(t, Later, 1)
		if n := s.asked("due"); n != 0 {
			t.Errorf("%d calls of ReturnDue before a task was due", n)
		}
		time.Sleep(1100 * time.Millisecond)
		r.want(t, Done, 1)
		r.stop(t)
	})
}

// A task whose last lease ended is dead and counted.
func TestTheLastLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(2)
		for i, most := range []int64{1, 2} {
			s.tasks[i].State, s.tasks[i].DueAt, s.tasks[i].MaxTries = Claimed, time.Now().Add(time.Second).UnixMilli(), most
		}
		r := run(t, s, Service{Handle: nothing})
		time.Sleep(3 * time.Second)
		r.want(t, Dead, 1)
		r.want(t, Done, 1)
		if back, dead := count(t, r.registry, "requeues_total", ""), count(t, r.registry, "expirations_total", ""); back != 1 || dead != 1 {
			t.Errorf("%v tasks were requeued and %v are dead", back, dead)
		}
		r.stop(t)
	})
}

// ending is a store whose NextDue returns only when its context ends.
type ending struct{ *store }

func (ending) NextDue(ctx context.Context) (time.Duration, bool, error) {
	<-ctx.Done()
	return 0, false, ctx.Err()
}

// A node that stops logs no failure.
func TestAStopIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		k := NewMaintainer(MaintainerConfig{Store: ending{newStore(0)}, Notifier: &Notifier{}, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		ctx, end := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, end)
		if err := k.Run(ctx); err != nil || said.Len() > 0 {
			t.Errorf("%v, said %q", err, said.String())
		}
	})
}
