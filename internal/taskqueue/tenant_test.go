package taskqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// fakeTenantStore is a store in memory with tasks of many kinds. onClaim, if set, is called
// within each claim.
type fakeTenantStore struct {
	*memoryQueue

	onClaim func()
}

func (s *fakeTenantStore) Enqueue(ctx context.Context, tasks []NewTask) (accepted []Accepted, err error) {
	if _, err = s.memoryQueue.Enqueue(ctx, tasks); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range tasks {
		t := n.Task(time.Now().UnixMilli())
		t.ID = fmt.Sprint(len(s.tasks))
		s.tasks = append(s.tasks, &t)
		s.notifier.Notify(t.Topic)
		accepted = append(accepted, Accepted{ID: t.ID, State: t.State, New: true})
	}
	return accepted, nil
}

func (s *fakeTenantStore) Claim(_ context.Context, kind string, n int, lease time.Duration) (claimed []Task, err error) {
	unlock, err := s.lockForCall("claim")
	defer unlock()
	for _, t := range s.tasks {
		if err == nil && t.State == StateWaiting && Kind(t.Topic) == kind && len(claimed) < n {
			t.State, t.Fence, t.DueAt = StateClaimed, t.Fence+1, time.Now().Add(lease).UnixMilli()
			claimed = append(claimed, *t)
		}
	}
	if s.onClaim != nil {
		s.onClaim()
	}
	if len(claimed) > 0 {
		s.notifier.Notify("")
	}
	return claimed, err
}

func (s *fakeTenantStore) Task(_ context.Context, id string) (Task, error) {
	unlock, err := s.lockForCall("task")
	defer unlock()
	for _, t := range s.tasks {
		if err == nil && t.ID == id {
			return *t, nil
		}
	}
	return Task{}, cmp.Or(err, ErrNotFound)
}

func (s *fakeTenantStore) GameTasks(_ context.Context, game string, ids []string) (found []Task, err error) {
	unlock, err := s.lockForCall("tasks")
	defer unlock()
	for _, t := range s.tasks {
		if err == nil && t.Game == game && slices.Contains(ids, t.ID) {
			found = append(found, *t)
		}
	}
	return found, err
}

// tenantTest is a TenantQueue of one test, with an empty store.
type tenantTest struct {
	*TenantQueue

	t        *testing.T
	store    *fakeTenantStore
	registry *prometheus.Registry
}

func newTenantTest(t *testing.T) *tenantTest {
	t.Helper()
	f := &tenantTest{t: t, store: &fakeTenantStore{memoryQueue: newMemoryQueue(0)}, registry: prometheus.NewRegistry()}
	f.store.notifier = &Notifier{}
	f.TenantQueue = NewTenantQueue(TenantConfig{Store: f.store, Notifier: f.store.notifier, Registry: f.registry})
	return f
}

// enqueue enqueues a task for each key, and returns their ids.
func (f *tenantTest) enqueue(game, topic string, keys ...string) (ids []string) {
	f.t.Helper()
	for _, key := range keys {
		accepted, err := f.Enqueue(f.t.Context(), game, []NewTask{{Topic: topic, Key: key, Payload: []byte("1")}})
		if err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, accepted[0].ID)
	}
	return ids
}

// metricValue returns the sum of the series of a metric with a label value, or of all
// series for "".
func (f *tenantTest) metricValue(name, label string) (sum float64) {
	f.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != tenantMetricPrefix+name {
			continue
		}
		for _, m := range family.Metric {
			if label == "" || m.Label[0].GetValue() == label {
				sum += m.Counter.GetValue() + m.Gauge.GetValue()
			}
		}
	}
	return sum
}

func (f *tenantTest) wantMetric(name, label string, want float64) {
	f.t.Helper()
	if result := f.metricValue(name, label); result != want {
		f.t.Errorf("%s of %q is %v, want %v", name, label, result, want)
	}
}

// Two games never have the same stored topic, so a game cannot reach the tasks of another game.
func TestStoredTopicsOfTwoGamesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, game := range []string{"a", "a:b", "own", "own:a", "a-", "webhook"} {
		for _, kind := range []string{"a", "b", "b:c", "c", "~", "~b", "a~b", "own:a~b", "settle"} {
			name := game + " " + kind
			stored := storedTopic(game, kind)
			if other := seen[stored]; other != "" {
				t.Errorf("%s and %s are both stored as %s", name, other, stored)
			}
			seen[stored] = name
			if task := (Task{Game: game, Topic: storedTopic(game, kind+"/x/y")}); Kind(task.Topic) != stored || !task.stripTopic(game) || task.Topic != kind+"/x/y" {
				t.Errorf("the topic %s/x/y is stored as %s and returned as %s", name, stored, task.Topic)
			}
		}
	}
}

// A game cannot see or change tasks of other games and of the server.
func TestAGameSeesOnlyItsOwnTasks(t *testing.T) {
	t.Parallel()
	f := newTenantTest(t)
	id := f.enqueue("demo", "mail/eu", "k")[0]
	f.store.tasks = append(f.store.tasks, &Task{ID: "hook", Game: "demo", Topic: "webhook/demo/x", Key: "k", State: StateClaimed, Fence: 1})
	for game, kind := range map[string]string{"other": "mail", "demo": "webhook", "own:demo": "mail"} {
		if keys, _ := f.claimKeys(game, pollFor(kind, 0)); keys != "" {
			t.Errorf("a worker of %s got %s", game, keys)
		}
	}
	if keys, _ := f.claimKeys("demo", pollFor("mail", 0)); keys != "mail/eu=k" {
		t.Fatalf("a worker of the game got %q", keys)
	}
	own, foreign := []Lease{{id, 1}}, []Lease{{"hook", 1}, {"nobody's", 1}}
	for game, leases := range map[string][]Lease{"other": own, "demo": foreign} {
		for operation, lost := range map[string]func() ([]Lease, error){
			"renew":    func() ([]Lease, error) { return f.Renew(t.Context(), game, leases, time.Minute) },
			"complete": func() ([]Lease, error) { return f.Complete(t.Context(), game, leases) },
			"fail": func() ([]Lease, error) {
				return f.Fail(t.Context(), game, []FailedAttempt{{Lease: leases[0], Err: errors.New("why")}, {Lease: leases[len(leases)-1], Err: errors.New("why")}})
			},
		} {
			if result, err := lost(); err != nil || result[0] != leases[0] {
				t.Errorf("%s could %s %v: %v lost, %v", game, operation, leases, result, err)
			}
		}
		if _, err := f.Task(t.Context(), game, leases[0].ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s sees %s: %v", game, leases[0].ID, err)
		}
	}
	if seen, err := f.Task(t.Context(), "demo", id); err != nil || seen.Topic != "mail/eu" || seen.State != StateClaimed {
		t.Errorf("the game sees its task as %+v, %v", seen, err)
	}
	if lost, err := f.Complete(t.Context(), "demo", own); err != nil || len(lost) > 0 || f.store.count(StateDone) != 1 {
		t.Errorf("a worker of the game could not complete the task: %v, %v", lost, err)
	}
}

// startMaintainer runs a maintainer on the store; end stops it and waits for it.
func (f *tenantTest) startMaintainer() (end func()) {
	maintainer := NewMaintainer(MaintainerConfig{Store: f.store, Notifier: f.store.notifier})
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan error)
	go func() { ended <- maintainer.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Error(err)
		}
	}
}

// claimOnlyTask waits for the only task and claims it.
func (f *tenantTest) claimOnlyTask(lease time.Duration) *Task {
	f.t.Helper()
	tasks, err := f.Claim(f.t.Context(), "demo", Poll{Kind: "mail", Max: 10, Lease: lease, Wait: MaxPollWait})
	if err != nil || len(tasks) != 1 {
		f.t.Fatalf("claimed %v, %v", tasks, err)
	}
	return &tasks[0]
}

// failAttempt reports a failed attempt, and returns the task as it is afterwards.
func (f *tenantTest) failAttempt(attempt FailedAttempt) Task {
	f.t.Helper()
	attempt.Err = errors.New("why")
	if lost, err := f.Fail(f.t.Context(), "demo", []FailedAttempt{attempt}); err != nil || len(lost) > 0 {
		f.t.Fatalf("lost %v, %v", lost, err)
	}
	seen, err := f.Task(f.t.Context(), "demo", attempt.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	return seen
}

// A failed task waits as requested, or by the backoff, until its last attempt.
func TestTenantQueueRecordsFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		end := f.startMaintainer()
		defer end()
		f.enqueue("demo", "mail", "a")
		wait := func(x FailedAttempt) time.Duration { return time.Until(time.UnixMilli(f.failAttempt(x).DueAt)) }
		if d := wait(FailedAttempt{Lease: f.claimOnlyTask(time.Minute).Lease()}); d > time.Second {
			t.Errorf("the first backoff is %s", d)
		}
		if d := wait(FailedAttempt{Lease: f.claimOnlyTask(time.Minute).Lease(), Wait: 15 * time.Second}); d != 15*time.Second {
			t.Errorf("the task waits %s instead of the requested 15 s", d)
		}
		if last := f.failAttempt(FailedAttempt{Lease: f.claimOnlyTask(time.Minute).Lease(), Final: true}); last.State != StateDead || last.Tries != 3 {
			t.Errorf("after the final failure the task is %+v", last)
		}
		f.wantMetric("failures_total", reasonError, 2)
		f.wantMetric("failures_total", reasonPermanent, 1)
		f.wantMetric("dead_letters_total", "", 1)
	})
}

// If a call reports two failures of one lease, only the first counts.
func TestOnlyTheFirstReportOfALeaseCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		f.enqueue("demo", "mail", "a")
		x := FailedAttempt{Lease: f.claimOnlyTask(time.Minute).Lease(), Err: errors.New("why"), Final: true}
		y := FailedAttempt{Lease: x.Lease, Err: errors.New("why not"), Wait: time.Second}
		lost, err := f.Fail(t.Context(), "demo", []FailedAttempt{x, y})
		if seen, errs := f.Task(t.Context(), "demo", x.ID); cmp.Or(err, errs) != nil || len(lost) > 0 || seen.State != StateDead || seen.Tries != 1 {
			t.Errorf("lost %v, %v; the task is %+v", lost, cmp.Or(err, errs), seen)
		}
		f.wantMetric("failures_total", reasonPermanent, 1)
		f.wantMetric("failures_total", reasonError, 0)
	})
}

// The maintainer handles leases and waits that end before its next poll, because the
// store notifies it.
func TestMaintainerIsNotifiedByTenantQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newTenantTest(t)
		end := f.startMaintainer()
		defer end()
		f.enqueue("demo", "mail", "a")
		checkReturned := func(operation string, wait time.Duration) {
			t.Helper()
			startedAt := time.Now()
			for f.store.count(StateWaiting) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
			if elapsed := time.Since(startedAt); elapsed < wait || elapsed > wait+2*time.Second {
				t.Errorf("%s of %s ended after %s", operation, wait, elapsed)
			}
			time.Sleep(5 * time.Second) // until the maintainer is idle again
		}
		time.Sleep(5 * time.Second)
		f.claimOnlyTask(4 * time.Second)
		checkReturned("a lease", 4*time.Second)
		lease := f.claimOnlyTask(time.Minute).Lease()
		time.Sleep(5 * time.Second)
		if lost, err := f.Renew(t.Context(), "demo", []Lease{lease}, 3*time.Second); err != nil || len(lost) > 0 {
			t.Fatalf("lost %v, %v", lost, err)
		}
		checkReturned("a renewed lease", 3*time.Second)
		lease = f.claimOnlyTask(time.Minute).Lease()
		time.Sleep(5 * time.Second)
		f.failAttempt(FailedAttempt{Lease: lease, Wait: 3 * time.Second})
		checkReturned("a wait", 3*time.Second)
	})
}

func TestTenantQueueRefusesBadRequests(t *testing.T) {
	t.Parallel()
	f := newTenantTest(t)
	enqueue := func(tasks ...NewTask) error {
		_, err := f.Enqueue(t.Context(), "demo", tasks)
		return err
	}
	task := func(topic, key string) NewTask { return NewTask{Topic: topic, Key: key, Payload: []byte("1")} }
	claim := func(p Poll) error {
		_, err := f.Claim(t.Context(), "demo", p)
		return err
	}
	fail := func(x FailedAttempt) error {
		_, err := f.Fail(t.Context(), "demo", []FailedAttempt{x})
		return err
	}
	renew := func(lease time.Duration, leases ...Lease) error {
		_, err := f.Renew(t.Context(), "demo", leases, lease)
		return err
	}
	late := NewTask{Topic: "t", Key: "k", Payload: []byte("1"), Priority: 8}
	for name, tt := range map[string]struct{ err, want error }{
		"no tasks":                      {enqueue(), ErrBadRequest},
		"many tasks":                    {enqueue(slices.Repeat([]NewTask{task("t", "k")}, MaxPerCall+1)...), ErrBadRequest},
		"no topic":                      {enqueue(task("", "k")), ErrBadTask},
		"no kind":                       {enqueue(task("/a", "k")), ErrBadTask},
		"a long topic":                  {enqueue(task(strings.Repeat("t", MaxTopicBytes+1), "k")), ErrBadTask},
		"no key":                        {enqueue(task("t", "")), ErrBadTask},
		"an invalid second task":        {enqueue(task("t", "k"), late), ErrBadTask},
		"a poll without a kind":         {claim(pollFor("", 0)), ErrBadRequest},
		"a poll for a topic":            {claim(pollFor("mail/eu", 0)), ErrBadRequest},
		"a poll for 0 tasks":            {claim(Poll{Kind: "mail", Lease: time.Minute}), ErrBadRequest},
		"a poll for too many tasks":     {claim(Poll{Kind: "mail", Lease: time.Minute, Max: MaxPerCall + 1}), ErrBadRequest},
		"a short lease":                 {claim(Poll{Kind: "mail", Lease: MinLease - 1, Max: 1}), ErrBadRequest},
		"a long wait":                   {claim(pollFor("mail", MaxPollWait+1)), ErrBadRequest},
		"a wait below 0":                {claim(pollFor("mail", -1)), ErrBadRequest},
		"a long lease":                  {renew(MaxLease+1, Lease{"1", 1}), ErrBadRequest},
		"no leases":                     {renew(MaxLease), ErrBadRequest},
		"a failure without a reason":    {fail(FailedAttempt{Err: errors.New("")}), ErrBadRequest},
		"a long retry wait":             {fail(FailedAttempt{Err: errUnreachable, Wait: MaxRetryWait + 1}), ErrBadRequest},
		"a final and postponed failure": {fail(FailedAttempt{Err: errUnreachable, Final: true, Postponed: true}), ErrBadRequest},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", name, tt.err, tt.want)
		}
	}
	if n := f.store.takeCallCount(); n != 0 {
		t.Errorf("the store was called %d times, want 0", n)
	}
	long := NewTask{Topic: strings.Repeat("t", MaxTopicBytes), Key: "k", Payload: []byte("1")}
	if _, err := f.Enqueue(t.Context(), strings.Repeat("g", 64), []NewTask{long}); err != nil {
		t.Error(err)
	}
}

func TestTenantQueueReturnsErrorsOfItsStore(t *testing.T) {
	t.Parallel()
	f := newTenantTest(t)
	id := f.enqueue("demo", "mail", "a")[0]
	f.store.setUnreachable(true)
	for name, ask := range map[string]func() error{
		"enqueue one": func() error {
			_, err := f.Enqueue(t.Context(), "demo", []NewTask{{Topic: "t", Key: "k", Payload: []byte("1")}})
			return err
		},
		"enqueue": func() error {
			_, err := f.Enqueue(t.Context(), "demo", slices.Repeat([]NewTask{{Topic: "t", Key: "k", Payload: []byte("1")}}, 2))
			return err
		},
		"claim": func() error {
			_, err := f.Claim(t.Context(), "demo", pollFor("mail", MaxPollWait))
			return err
		},
		"complete": func() error {
			_, err := f.Complete(t.Context(), "demo", []Lease{{id, 1}})
			return err
		},
		"task": func() error {
			_, err := f.Task(t.Context(), "demo", id)
			return err
		},
	} {
		if err := ask(); !errors.Is(err, errUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
