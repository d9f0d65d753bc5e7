package taskqueue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Limits of the calls of a TenantQueue.
const (
	MaxPerCall    = 100 // tasks per call
	MaxTopicBytes = 128 // longest topic or kind

	MinLease     = time.Second
	MaxLease     = 10 * time.Minute
	MaxPollWait  = 20 * time.Second    // how long a poll may wait for a task
	MaxRetryWait = 30 * 24 * time.Hour // longest wait after a failed attempt
)

// Errors of a TenantQueue. Their texts are for its callers. It also returns
// ErrBadTask and ErrNotFound.
var (
	ErrBadRequest   = errors.New("the queue cannot do this")
	ErrTooManyPolls = errors.New("too many polls wait at this node")
)

// TenantStore is the store of a TenantQueue. The store must call the Notifier
// for every new or returned task. *ledger.TaskStore implements it.
type TenantStore interface {
	Enqueuer
	// Task returns a task, or ErrNotFound.
	Task(ctx context.Context, id string) (Task, error)
}

// TenantConfig configures a TenantQueue.
type TenantConfig struct {
	Store    TenantStore
	Claims   func(topicPrefix string) ClaimStore // of those of the same tasks whose topics have the prefix; the leases of others are lost
	Notifier *Notifier
	Registry prometheus.Registerer // nil: not measured
}

// TenantQueue is the task queue for games: their programs enqueue tasks and
// work on them. Each game sees only its own topics. It is safe for concurrent
// use.
type TenantQueue struct {
	store   TenantStore
	claims  func(topicPrefix string) ClaimStore
	batcher *Batcher
	polls   *polls
	backoff Backoff
	metrics *tenantMetrics

	closeOnce sync.Once
	closed    chan struct{}
}

// NewTenantQueue returns a TenantQueue. The caller must close it.
func NewTenantQueue(c TenantConfig) *TenantQueue {
	metrics := newTenantMetrics(c.Registry)
	return &TenantQueue{
		store: c.Store, claims: c.Claims, batcher: NewBatcher(c.Store), metrics: metrics,
		polls:   &polls{notifier: c.Notifier, gauge: metrics.waiting, perGame: map[string]int{}},
		backoff: Backoff{First: time.Second, Max: 10 * time.Minute},
		closed:  make(chan struct{}),
	}
}

// Close makes all waiting polls return without tasks. Later polls do not wait.
func (q *TenantQueue) Close() { q.closeOnce.Do(func() { close(q.closed) }) }

// storedTopic returns the name that the store uses for a topic or kind of a
// game. Names of games contain no "~", and no kind of the server starts with
// "own:". Therefore the topics of two games are never equal.
func storedTopic(game, topic string) string { return "own:" + game + "~" + topic }

// stripTopic replaces the stored topic of the task by the topic that the game
// uses. It reports whether the task belongs to the game.
func (t *Task) stripTopic(game string) (ok bool) {
	t.Topic, ok = strings.CutPrefix(t.Topic, storedTopic(game, ""))
	return ok && t.Game == game
}

// isBadTopic reports whether a game must not use this topic: it is too long, is
// not printable ASCII without spaces, or starts with a slash.
func isBadTopic(topic string) bool {
	return isBadName(topic, false) || len(topic) > MaxTopicBytes || Kind(topic) == ""
}

func checkCount(n int) error {
	if n < 1 || n > MaxPerCall {
		return fmt.Errorf("%w: %d tasks in a call: want 1 to %d", ErrBadRequest, n, MaxPerCall)
	}
	return nil
}

func checkLease(lease time.Duration) error {
	if lease < MinLease || lease > MaxLease {
		return fmt.Errorf("%w: a lease of %s: want %s to %s", ErrBadRequest, lease, MinLease, MaxLease)
	}
	return nil
}

// Enqueue stores tasks of a game, all or none. It replaces their field Game.
// When it returns without error, the tasks are on disk. It returns ErrBadRequest
// or ErrBadTask for bad input.
func (q *TenantQueue) Enqueue(ctx context.Context, game string, tasks []NewTask) ([]Accepted, error) {
	if err := checkCount(len(tasks)); err != nil {
		return nil, err
	}
	storedTasks := make([]NewTask, len(tasks))
	for i, task := range tasks {
		if isBadTopic(task.Topic) || isBadName(task.Key, false) {
			return nil, fmt.Errorf("tasks[%d]: %w: topic %q is 1 to %d printable bytes without spaces, not / first, and key %q 1 to %d",
				i, ErrBadTask, task.Topic, MaxTopicBytes, task.Key, MaxNameBytes)
		}
		task.Game, task.Topic = game, storedTopic(game, task.Topic)
		if err := task.Check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
		storedTasks[i] = task
	}
	var accepted []Accepted
	var err error
	if len(tasks) == 1 { // shares a commit with single tasks of other calls
		accepted = make([]Accepted, 1)
		accepted[0], err = q.batcher.Enqueue(ctx, storedTasks[0])
	} else {
		accepted, err = q.store.Enqueue(ctx, storedTasks)
	}
	if err != nil {
		return nil, err
	}
	q.metrics.countEnqueued(accepted)
	return accepted, nil
}

// Task returns a task of a game, or ErrNotFound.
func (q *TenantQueue) Task(ctx context.Context, game, id string) (Task, error) {
	task, err := q.store.Task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if !task.stripTopic(game) {
		return Task{}, ErrNotFound
	}
	return task, nil
}
