package settle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// Ledger is the source of truth. Commit accepts all results or none, and each
// match once. It returns in the order of the results, once they are on disk.
type Ledger interface {
	Commit(ctx context.Context, results []match.Result) ([]Committed, error)
}

// Pending stores the results of all nodes that the ledger does not have yet.
// ReadResults returns at most limit of them, with their standings. MarkSettled
// removes results, marks their matches settled and frees their players; callers may
// repeat it. CompleteStandings reads the standings of an incomplete result, pending
// or not. It returns match.ErrNotFound if the standings no longer exist or this node
// cannot read them.
type Pending interface {
	ReadResults(ctx context.Context, limit int) ([]match.Result, error)
	MarkSettled(ctx context.Context, results []match.Result) error
	CompleteStandings(ctx context.Context, r *match.Result) error
}

// DeadLetters stores the dead letters. A task is on disk once AddTask returns.
// AddTask changes nothing if the key exists already. ChangeTask lets one caller at
// a time change a task.
type DeadLetters interface {
	AddTask(ctx context.Context, t taskqueue.Task) (added bool, err error)
	Task(ctx context.Context, id string) (taskqueue.Task, error)
	ChangeTask(ctx context.Context, id string, change func(*taskqueue.Task) error) (taskqueue.Task, error)
}

// Leaderboards are views of the ledger. After Apply they show everything that the
// game's ledger held when Apply was called.
type Leaderboards interface {
	Apply(ctx context.Context, game string) error
}

// Config configures a Service. The fields of the first group are required. A zero
// value in the second group means the default in its comment.
type Config struct {
	Ledger        Ledger
	Pending       Pending
	DeadLetters   DeadLetters
	Leaderboards  Leaderboards
	Notify        func(context.Context, match.Result) // notifies the players when the leaderboards show the result; one call at a time per game
	IsUnavailable func(error) bool                    // whether an error of the ledger is an outage, which ends by itself
	IsRefusal     func(error) bool                    // whether an error of the ledger is the fault of a result, so that no retry helps
	Now           func() int64                        // cluster time, epoch ms
	Logger        *slog.Logger
	Registry      prometheus.Registerer

	BatchSize        int           // highest number of results per commit; 256
	BatchDelay       time.Duration // how long the first of a batch waits for others; 5 ms
	QueueSize        int           // highest number of offered results that wait; 4096
	LeaderboardQueue int           // highest number of results per game that wait for its leaderboards; 4096
	SweepInterval    time.Duration // between sweeps, and the minimum age of a result that they settle; 2 s
	StopTimeout      time.Duration // how long a stop may still settle offered results; 5 s
}

// Service settles results: it commits them to the ledger, applies them to the
// leaderboards and notifies the players. Its methods are safe for concurrent use; Run must be
// called once.
type Service struct {
	Config
	metrics       *metrics
	queue         chan match.Result
	retryRequests chan retryRequest
	stopped       chan struct{} // closed when the service accepts no more results

	// Only Run's loop uses the fields below.
	refusedResults map[matchKey]refusedResult
	holds          map[string]*gameHold // by game
	notified       map[matchKey]bool    // notified but still pending: must not be notified again
	ledgerDown     bool                 // true: the last call of the ledger got no answer
	outboxes       map[string]chan<- match.Result
	outboxWorkers  sync.WaitGroup
}

type matchKey struct{ game, id string }

func newMatchKey(result match.Result) matchKey { return matchKey{result.Game, result.Match} }

// New returns a service. It does nothing before Run.
func New(config Config) *Service {
	setDefault(&config.BatchSize, 256)
	setDefault(&config.QueueSize, 4096)
	setDefault(&config.LeaderboardQueue, 4096)
	setDefault(&config.BatchDelay, 5*time.Millisecond)
	setDefault(&config.SweepInterval, 2*time.Second)
	setDefault(&config.StopTimeout, 5*time.Second)
	service := &Service{
		Config: config, queue: make(chan match.Result, config.QueueSize), retryRequests: make(chan retryRequest), stopped: make(chan struct{}),
		refusedResults: map[matchKey]refusedResult{}, holds: map[string]*gameHold{}, notified: map[matchKey]bool{}, outboxes: map[string]chan<- match.Result{},
	}
	service.metrics = newMetrics(config.Registry, func() float64 { return float64(len(service.queue)) })
	return service
}

func setDefault[T comparable](setting *T, defaultValue T) {
	var zero T
	if *setting == zero {
		*setting = defaultValue
	}
}

// Offer passes a pending result to the service. It never blocks. It returns false
// if the queue is full or the service has stopped, which is counted. It also
// returns false if the result has no standings. In these cases a sweep, at this
// node or another, settles the result later.
func (s *Service) Offer(result match.Result) bool {
	if !result.IsComplete() {
		return false
	}
	select {
	case <-s.stopped:
		s.metrics.countFailures(reasonStopped, 1)
		return false
	default:
	}
	select {
	case s.queue <- result:
		return true
	default:
		s.metrics.countFailures(reasonQueueFull, 1)
		return false
	}
}

// Run settles offered results and those that sweeps find, until the context ends.
// Then it settles the results already offered, for at most StopTimeout. The rest
// stays pending. It returns nil once everything that it started has ended.
func (s *Service) Run(ctx context.Context) error {
	workCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var stopTimer sync.WaitGroup
	stopTimer.Go(func() { cancelLater(ctx, workCtx, s.StopTimeout, cancel) })
	s.runLoop(ctx, workCtx)
	close(s.stopped)
	for _, outbox := range s.outboxes {
		close(outbox)
	}
	s.outboxWorkers.Wait()
	cancel()
	stopTimer.Wait()
	return nil
}

// cancelLater ends the work some time after ctx has ended. It returns earlier if
// the work has ended.
func cancelLater(ctx, workCtx context.Context, delay time.Duration, cancelWork context.CancelFunc) {
	select {
	case <-ctx.Done():
	case <-workCtx.Done():
		return
	}
	sleep(workCtx, delay)
	cancelWork()
}

// runLoop handles offered results, requests of operators and sweeps, one at a time.
// It starts with a sweep, for the results that a former process left.
func (s *Service) runLoop(ctx, workCtx context.Context) {
	sweeps := time.NewTicker(s.SweepInterval)
	defer sweeps.Stop()
	hasMore := s.sweepPending(workCtx)
	for ctx.Err() == nil {
		var sweepNow chan struct{} // ready at once while a sweep left results
		if hasMore {
			sweepNow = alwaysReady
		}
		select {
		case <-ctx.Done():
		case result := <-s.queue:
			s.settleBatch(workCtx, s.collectBatch(ctx, result), false)
		case request := <-s.retryRequests:
			request.done <- s.commitDeadLetter(workCtx, request.result)
		case <-sweeps.C:
			hasMore = s.sweepPending(workCtx)
		case <-sweepNow:
			hasMore = s.sweepPending(workCtx)
		}
	}
	s.drainQueue(workCtx)
}

// alwaysReady is a channel that never blocks a receiver.
var alwaysReady = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// drainQueue settles the offered results until the work context ends.
func (s *Service) drainQueue(workCtx context.Context) {
	for workCtx.Err() == nil {
		select {
		case result := <-s.queue:
			s.settleBatch(workCtx, s.collectBatch(workCtx, result), false)
		default:
			return
		}
	}
	if n := len(s.queue); n > 0 {
		s.metrics.countFailures(reasonStopped, n)
		s.Logger.Warn("settlement stopped with unsettled results; results stay pending", "results", n)
	}
}
