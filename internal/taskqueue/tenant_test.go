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

	"laststand/internal/testenv"
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
	for _, newTask := range tasks {
		task := newTask.Task(time.Now().UnixMilli())
		task.ID = fmt.Sprint(len(s.tasks))
		s.tasks = append(s.tasks, &task)
		s.notifier.Notify(task.Topic)
		accepted = append(accepted, Accepted{ID: task.ID, State: task.State, New: true})
	}
	return accepted, nil
}

func (s *fakeTenantStore) Claim(_ context.Context, kind string, n int, lease time.Duration) (claimed []Task, err error) {
	unlock, err := s.lockForCall("claim")
	defer unlock()
	for _, task := range s.tasks {
		if err == nil && task.State == StateWaiting && Kind(task.Topic) == kind && len(claimed) < n {
			task.State, task.Fence, task.DueAt = StateClaimed, task.Fence+1, time.Now().Add(lease).UnixMilli()
			claimed = append(claimed, *task)
		}
	}
	if s.onClaim != nil {
		s.onClaim()
	}
	return claimed, err
}

func (s *fakeTenantStore) Task(_ context.Context, id string) (Task, error) {
	unlock, err := s.lockForCall("task")
	defer unlock()
	for _, task := range s.tasks {
		if err == nil && task.ID == id {
			return *task, nil
		}
	}
	return Task{}, cmp.Or(err, ErrNotFound)
}

// claims returns the store of the tasks whose topics have the prefix.
func (s *fakeTenantStore) claims(topicPrefix string) ClaimStore { return &ownedTasks{s, topicPrefix} }

type ownedTasks struct {
	*fakeTenantStore

	topicPrefix string
}

// isForeign reports whether another owner has the task of a lease.
func (s *ownedTasks) isForeign(lease Lease) bool {
	task, err := s.Task(context.Background(), lease.ID)
	return err != nil || !strings.HasPrefix(task.Topic, s.topicPrefix)
}

func (s *ownedTasks) split(leases []Lease) (own, foreign []Lease) {
	for _, lease := range leases {
		if s.isForeign(lease) {
			foreign = append(foreign, lease)
		} else {
			own = append(own, lease)
		}
	}
	return own, foreign
}

func (s *ownedTasks) Renew(ctx context.Context, leases []Lease, lease time.Duration) ([]Lease, error) {
	own, foreign := s.split(leases)
	lost, err := s.fakeTenantStore.Renew(ctx, own, lease)
	return append(foreign, lost...), err
}

func (s *ownedTasks) Complete(ctx context.Context, leases []Lease) ([]Lease, error) {
	own, foreign := s.split(leases)
	lost, err := s.fakeTenantStore.Complete(ctx, own)
	return append(foreign, lost...), err
}

func (s *ownedTasks) Fail(ctx context.Context, failed []FailedAttempt) (lost []Lease, err error) {
	done := map[Lease]bool{}
	for i := range failed {
		switch lease := failed[i].Lease; {
		case done[lease]:
			continue
		case s.isForeign(lease):
			lost = append(lost, lease)
		default:
			alsoLost, failErr := s.fakeTenantStore.Fail(ctx, failed[i:i+1])
			lost, err = append(lost, alsoLost...), cmp.Or(err, failErr)
		}
		done[failed[i].Lease] = true
	}
	return lost, err
}

// testTenantQueue is a TenantQueue of one test, with an empty store.
type testTenantQueue struct {
	*TenantQueue

	t        *testing.T
	store    *fakeTenantStore
	registry *prometheus.Registry
}

func newTestTenantQueue(t *testing.T) *testTenantQueue {
	t.Helper()
	queue := &testTenantQueue{t: t, store: &fakeTenantStore{memoryQueue: newMemoryQueue(0)}, registry: prometheus.NewRegistry()}
	queue.store.notifier = NewNotifier(nil)
	queue.TenantQueue = NewTenantQueue(TenantConfig{Store: queue.store, Claims: queue.store.claims, Notifier: queue.store.notifier, Registry: queue.registry})
	return queue
}

// runWithTenantQueue runs a test with a TenantQueue in virtual time.
func runWithTenantQueue(t *testing.T, test func(t *testing.T, queue *testTenantQueue)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newTestTenantQueue(t)) })
}

// enqueue enqueues a task for each key, and returns their ids.
func (q *testTenantQueue) enqueue(game, topic string, keys ...string) (ids []string) {
	q.t.Helper()
	for _, key := range keys {
		accepted, err := q.Enqueue(q.t.Context(), game, []NewTask{{Topic: topic, Key: key, Payload: []byte("1")}})
		if err != nil {
			q.t.Fatal(err)
		}
		ids = append(ids, accepted[0].ID)
	}
	return ids
}

// metricValue returns the sum of the series of a metric with a label value, or of all
// series for "".
func (q *testTenantQueue) metricValue(name, label string) (sum float64) {
	q.t.Helper()
	families, err := q.registry.Gather()
	if err != nil {
		q.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "laststand_game_tasks_"+name {
			continue
		}
		for _, sample := range family.Metric {
			if label == "" || sample.Label[0].GetValue() == label {
				sum += sample.Counter.GetValue() + sample.Gauge.GetValue()
			}
		}
	}
	return sum
}

func (q *testTenantQueue) wantMetric(name, label string, want float64) {
	q.t.Helper()
	if result := q.metricValue(name, label); result != want {
		q.t.Errorf("%s of %q is %v, want %v", name, label, result, want)
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
	queue := newTestTenantQueue(t)
	id := queue.enqueue("demo", "mail/eu", "k")[0]
	queue.store.tasks = append(queue.store.tasks,
		&Task{ID: "hook", Game: "demo", Topic: "webhook/demo/x", Key: "k", State: StateClaimed, Fence: 1},
		&Task{ID: "odd", Game: "other", Topic: storedTopic("demo", "mail/eu"), Key: "k", State: StateDead})
	if task, err := queue.Task(t.Context(), "demo", "odd"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a task of another game under a topic of this one: %+v, %v", task, err)
	}
	for game, kind := range map[string]string{"other": "mail", "demo": "webhook", "own:demo": "mail"} {
		if keys, _ := queue.claimKeys(game, pollFor(kind, 0)); keys != "" {
			t.Errorf("a worker of %s got %s", game, keys)
		}
	}
	if keys, _ := queue.claimKeys("demo", pollFor("mail", 0)); keys != "mail/eu=k" {
		t.Fatalf("a worker of the game got %q", keys)
	}
	ownLeases, foreignLeases := []Lease{{id, 1}}, []Lease{{"hook", 1}, {"nobody's", 1}}
	for game, leases := range map[string][]Lease{"other": ownLeases, "demo": foreignLeases} {
		for operation, lost := range map[string]func() ([]Lease, error){
			"renew":    func() ([]Lease, error) { return queue.Renew(t.Context(), game, leases, time.Minute) },
			"complete": func() ([]Lease, error) { return queue.Complete(t.Context(), game, leases) },
			"fail": func() ([]Lease, error) {
				return queue.Fail(t.Context(), game, []FailedAttempt{{Lease: leases[0], Err: errors.New("why")}, {Lease: leases[len(leases)-1], Err: errors.New("why")}})
			},
		} {
			if result, err := lost(); err != nil || result[0] != leases[0] {
				t.Errorf("%s could %s %v: %v lost, %v", game, operation, leases, result, err)
			}
		}
		if _, err := queue.Task(t.Context(), game, leases[0].ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s sees %s: %v", game, leases[0].ID, err)
		}
	}
	if task, err := queue.Task(t.Context(), "demo", id); err != nil || task.Topic != "mail/eu" || task.State != StateClaimed {
		t.Errorf("the game sees its task as %+v, %v", task, err)
	}
	if lost, err := queue.Complete(t.Context(), "demo", append(ownLeases, ownLeases...)); err != nil || len(lost) > 0 || queue.store.count(StateDone) != 1 {
		t.Errorf("a worker of the game could not complete the task: %v, %v", lost, err)
	}
	queue.wantMetric("completions_total", "", 1)
}

// startMaintainer runs a maintainer on the store.
func (q *testTenantQueue) startMaintainer() {
	testenv.Run(q.t, NewMaintainer(MaintainerConfig{Store: q.store}).Run)
}

// claimOnlyTask waits for the only task and claims it.
func (q *testTenantQueue) claimOnlyTask(lease time.Duration) *Task {
	q.t.Helper()
	tasks, err := q.Claim(q.t.Context(), "demo", Poll{Kind: "mail", Max: 10, Lease: lease, Wait: MaxPollWait})
	if err != nil || len(tasks) != 1 {
		q.t.Fatalf("claimed %v, %v", tasks, err)
	}
	return &tasks[0]
}

// failAttempt reports a failed attempt, and returns the task as it is afterwards.
func (q *testTenantQueue) failAttempt(attempt FailedAttempt) Task {
	q.t.Helper()
	attempt.Err = errors.New("why")
	if lost, err := q.Fail(q.t.Context(), "demo", []FailedAttempt{attempt}); err != nil || len(lost) > 0 {
		q.t.Fatalf("lost %v, %v", lost, err)
	}
	seen, err := q.Task(q.t.Context(), "demo", attempt.ID)
	if err != nil {
		q.t.Fatal(err)
	}
	return seen
}

// A failed task waits as requested, or by the backoff, until its last attempt.
func TestTenantQueueRecordsFailures(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		queue.startMaintainer()
		queue.enqueue("demo", "mail", "a")
		failAndGetWait := func(attempt FailedAttempt) time.Duration {
			return time.Until(time.UnixMilli(queue.failAttempt(attempt).DueAt))
		}
		if wait := failAndGetWait(FailedAttempt{Lease: queue.claimOnlyTask(time.Minute).Lease()}); wait > time.Second {
			t.Errorf("the first backoff is %s", wait)
		}
		if wait := failAndGetWait(FailedAttempt{Lease: queue.claimOnlyTask(time.Minute).Lease(), Wait: 15 * time.Second}); wait != 15*time.Second {
			t.Errorf("the task waits %s instead of the requested 15 s", wait)
		}
		if last := queue.failAttempt(FailedAttempt{Lease: queue.claimOnlyTask(time.Minute).Lease(), Final: true}); last.State != StateDead || last.Tries != 3 {
			t.Errorf("after the final failure the task is %+v", last)
		}
		queue.wantMetric("failures_total", reasonError, 2)
		queue.wantMetric("failures_total", reasonPermanent, 1)
		queue.wantMetric("dead_letters_total", "", 1)
	})
}

// If a call reports two failures of one lease, only the first counts.
func TestOnlyTheFirstReportOfALeaseCounts(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		queue.enqueue("demo", "mail", "a")
		firstReport := FailedAttempt{Lease: queue.claimOnlyTask(time.Minute).Lease(), Err: errors.New("why"), Final: true}
		secondReport := FailedAttempt{Lease: firstReport.Lease, Err: errors.New("why not"), Wait: time.Second}
		lost, err := queue.Fail(t.Context(), "demo", []FailedAttempt{firstReport, secondReport})
		if task, taskErr := queue.Task(t.Context(), "demo", firstReport.ID); cmp.Or(err, taskErr) != nil || len(lost) > 0 || task.State != StateDead || task.Tries != 1 {
			t.Errorf("lost %v, %v; the task is %+v", lost, cmp.Or(err, taskErr), task)
		}
		queue.wantMetric("failures_total", reasonPermanent, 1)
		queue.wantMetric("failures_total", reasonError, 0)
	})
}

// The maintainer handles leases and waits that end before its next poll, because the
// store notifies it.
func TestMaintainerIsNotifiedByTenantQueue(t *testing.T) {
	runWithTenantQueue(t, func(t *testing.T, queue *testTenantQueue) {
		queue.startMaintainer()
		queue.enqueue("demo", "mail", "a")
		checkReturned := func(operation string, wait time.Duration) {
			t.Helper()
			startedAt := time.Now()
			for queue.store.count(StateWaiting) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
			if elapsed := time.Since(startedAt); elapsed < wait || elapsed > wait+2*time.Second {
				t.Errorf("%s of %s ended after %s", operation, wait, elapsed)
			}
			time.Sleep(5 * time.Second) // until the maintainer is idle again
		}
		time.Sleep(5 * time.Second)
		queue.claimOnlyTask(4 * time.Second)
		checkReturned("a lease", 4*time.Second)
		lease := queue.claimOnlyTask(time.Minute).Lease()
		time.Sleep(5 * time.Second)
		if lost, err := queue.Renew(t.Context(), "demo", []Lease{lease}, 3*time.Second); err != nil || len(lost) > 0 {
			t.Fatalf("lost %v, %v", lost, err)
		}
		checkReturned("a renewed lease", 3*time.Second)
		lease = queue.claimOnlyTask(time.Minute).Lease()
		time.Sleep(5 * time.Second)
		queue.failAttempt(FailedAttempt{Lease: lease, Wait: 3 * time.Second})
		checkReturned("a wait", 3*time.Second)
	})
}

func TestTenantQueueRefusesBadRequests(t *testing.T) {
	t.Parallel()
	queue := newTestTenantQueue(t)
	enqueue := func(tasks ...NewTask) error {
		_, err := queue.Enqueue(t.Context(), "demo", tasks)
		return err
	}
	task := func(topic, key string) NewTask { return NewTask{Topic: topic, Key: key, Payload: []byte("1")} }
	claim := func(poll Poll) error {
		_, err := queue.Claim(t.Context(), "demo", poll)
		return err
	}
	fail := func(attempt FailedAttempt) error {
		_, err := queue.Fail(t.Context(), "demo", []FailedAttempt{attempt})
		return err
	}
	renew := func(lease time.Duration, leases ...Lease) error {
		_, err := queue.Renew(t.Context(), "demo", leases, lease)
		return err
	}
	invalidTask := NewTask{Topic: "t", Key: "k", Payload: []byte("1"), Priority: 8}
	for name, tt := range map[string]struct{ err, want error }{
		"no tasks":                      {enqueue(), ErrBadRequest},
		"many tasks":                    {enqueue(slices.Repeat([]NewTask{task("t", "k")}, MaxPerCall+1)...), ErrBadRequest},
		"no topic":                      {enqueue(task("", "k")), ErrBadTask},
		"no kind":                       {enqueue(task("/a", "k")), ErrBadTask},
		"a long topic":                  {enqueue(task(strings.Repeat("t", MaxTopicBytes+1), "k")), ErrBadTask},
		"no key":                        {enqueue(task("t", "")), ErrBadTask},
		"an invalid second task":        {enqueue(task("t", "k"), invalidTask), ErrBadTask},
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
	if n := queue.store.takeCallCount(); n != 0 {
		t.Errorf("the store was called %d times, want 0", n)
	}
	longTopicTask := NewTask{Topic: strings.Repeat("t", MaxTopicBytes), Key: "k", Payload: []byte("1")}
	if _, err := queue.Enqueue(t.Context(), strings.Repeat("g", 64), []NewTask{longTopicTask}); err != nil {
		t.Error(err)
	}
}

func TestTenantQueueReturnsErrorsOfItsStore(t *testing.T) {
	t.Parallel()
	queue := newTestTenantQueue(t)
	id := queue.enqueue("demo", "mail", "a")[0]
	queue.store.setUnreachable(true)
	for name, call := range map[string]func() error{
		"enqueue one": func() error {
			_, err := queue.Enqueue(t.Context(), "demo", []NewTask{{Topic: "t", Key: "k", Payload: []byte("1")}})
			return err
		},
		"enqueue": func() error {
			_, err := queue.Enqueue(t.Context(), "demo", slices.Repeat([]NewTask{{Topic: "t", Key: "k", Payload: []byte("1")}}, 2))
			return err
		},
		"claim": func() error {
			_, err := queue.Claim(t.Context(), "demo", pollFor("mail", MaxPollWait))
			return err
		},
		"complete": func() error {
			_, err := queue.Complete(t.Context(), "demo", []Lease{{id, 1}})
			return err
		},
		"task": func() error {
			_, err := queue.Task(t.Context(), "demo", id)
			return err
		},
	} {
		if err := call(); !errors.Is(err, errUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
