package taskqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Bounds of what is asked of a front.
const (
	MaxPerCall = 100 // tasks of a call
	MaxTopic   = 128 // bytes of a game's own topic and of a kind

	MinLease     = time.Second
	MaxLease     = 10 * time.Minute
	MaxWait      = 20 * time.Second    // of a poll
	MaxRetryWait = 30 * 24 * time.Hour // of a task that failed
)

// What a front refuses, in words for its callers; ErrBadTask and ErrNotFound too.
var (
	ErrBadRequest   = errors.New("the queue cannot do this")
	ErrTooManyPolls = errors.New("too many polls wait at this node")
)

// FrontStore is the queue behind a front, which rings for all that begins in it;
// *ledger.Ledger.
type TenantStore interface {
	Enqueuer
	Claims
	// Task gives a task, or ErrNotFound.
	Task(ctx context.Context, id string) (Task, error)
	// TasksOf gives, of tasks with these ids, those of a game, without payloads.
	TasksOf(ctx context.Context, game string, ids []string) ([]Task, error)
}

// FrontConfig is what a front needs.
type TenantConfig struct {
	Store    TenantStore
	Notifier *Notifier
	Poll     time.Duration         // it looks for who waits all the same, as other nodes ring other bells; 0: 10 s
	Registry prometheus.Registerer // nil: not measured
}

// Front is the queue as the producers and workers of a game's own have it. Their
// topics are theirs: what another game has queued, or the server, is for them as
// if it were not there. It is for concurrent use.
type TenantQueue struct {
	store   TenantStore
	batcher *Batcher
	polls   *polls
	backoff Backoff
	metrics *tenantMetrics

	closing sync.Once
	closed  chan struct{}
}

// NewFront makes a front. The caller closes it before it ends.
func NewTenantQueue(c TenantConfig) *TenantQueue {
	metrics := newTenantMetrics(c.Registry)
	return &TenantQueue{
		store: c.Store, batcher: NewBatcher(c.Store), metrics: metrics,
		polls:   newPolls(c.Notifier, cmp.Or(c.Poll, 10*time.Second), metrics.waiting),
		backoff: Backoff{First: time.Second, Max: 10 * time.Minute},
		closed:  make(chan struct{}),
	}
}

// Close ends the polls that wait, with nothing found; from then on none waits.
func (f *TenantQueue) Close() { f.closing.Do(func() { close(f.closed) }) }

// own is a topic of a game's own, or a kind, as it is stored. No name of a game
// has a ~ and no kind of the server begins so: what one game can name is no
// other's.
func storedTopic(game, topic string) string { return "own:" + game + "~" + topic }

// badTopic says whether a game may not have a topic.
func isBadTopic(topic string) bool {
	return isBadName(topic, false) || len(topic) > MaxTopic || Kind(topic) == ""
}

// countOf refuses a call about none or too many.
func checkCount(n int) error {
	if n < 1 || n > MaxPerCall {
		return fmt.Errorf("%w: %d tasks in a call: want 1 to %d", ErrBadRequest, n, MaxPerCall)
	}
	return nil
}

// Enqueue takes tasks of a game's own, all or none; they are on disk once it
// returns, see Enqueuer. Their Game is set here. ErrBadAsk, ErrBadTask.
func (f *TenantQueue) Enqueue(ctx context.Context, game string, tasks []NewTask) ([]Accepted, error) {
	if err := checkCount(len(tasks)); err != nil {
		return nil, err
	}
	stored := make([]NewTask, len(tasks))
	for i, n := range tasks {
		if isBadTopic(n.Topic) || isBadName(n.Key, false) {
			return nil, fmt.Errorf("tasks[%d]: %w: topic %q is 1 to %d printable bytes without spaces, not / first, and key %q 1 to %d",
				i, ErrBadTask, n.Topic, MaxTopic, n.Key, MaxName)
		}
		n.Game, n.Topic = game, storedTopic(game, n.Topic)
		if err := n.Check(); err != nil {
			return nil, fmt.Errorf("tasks[%d]: %w", i, err)
		}
		stored[i] = n
	}
	accepted, err := f.enqueue(ctx, stored)
	f.metrics.countEnqueued(accepted)
	return accepted, err
}

// enqueue has single tasks share a commit.
func (f *TenantQueue) enqueue(ctx context.Context, tasks []NewTask) ([]Accepted, error) {
	if len(tasks) > 1 {
		return f.store.Enqueue(ctx, tasks)
	}
	accepted, err := f.batcher.Enqueue(ctx, tasks[0])
	if err != nil {
		return nil, err
	}
	return []Accepted{accepted}, nil
}

// Task gives a task of a game's own, or ErrNotFound.
func (f *TenantQueue) Task(ctx context.Context, game, id string) (Task, error) {
	t, err := f.store.Task(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if !t.stripTopic(game) {
		return Task{}, ErrNotFound
	}
	return t, nil
}
