package settle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/loop"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

const (
	batchDelay    = 5 * time.Millisecond // how long the first result of a batch waits for others
	sweepInterval = 2 * time.Second      // between sweeps, and the minimum age of a result that they settle
	stopTimeout   = 5 * time.Second      // how long a stop may still settle offered results
	callTimeout   = 10 * time.Second     // of one call of the ledger, of Pending or of the leaderboards
)

// Ledger is the source of truth. Commit accepts all results or none, and each
// match once. It returns in the order of the results, once they are on disk.
type Ledger interface {
	Commit(ctx context.Context, results []match.Result) ([]Committed, error)
}

// Committed is the ledger's reply for one result, which is then on disk.
type Committed struct {
	Match                 string
	CountsForLeaderboards bool  // also for totals; false above a limit that only the ledger knows
	IsNew                 bool  // false: the ledger had it before, and the fields below are zero, except Standings
	FirstPos              int64 // position of its first entry in the game's ledger; 0 if it has no entries
	LastPos               int64 // position of its last entry; 0 if it has no entries
	CommittedAt           int64 // by the database's clock, epoch ms

	// Standings are those of a rated result, with the ratings that the ledger
	// computed; nil for any other result.
	Standings []match.Standing
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

// Config configures a Service. All fields are required, except the sizes.
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

	BatchSize int // highest number of results per commit; 0: 256
	QueueSize int // highest number of offered results that wait; 0: 4096
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
	notifier       notifier
	refusedResults map[matchKey]refusedResult
	holds          gameHolds
	notified       map[matchKey]bool // notified but still pending: must not be notified again
	ledgerDown     bool              // true: the last call of the ledger got no answer
}

type matchKey struct{ game, id string }

func newMatchKey(result match.Result) matchKey { return matchKey{result.Game, result.Match} }

// New returns a service. It does nothing before Run.
func New(config Config) *Service {
	if config.BatchSize == 0 {
		config.BatchSize = 256
	}
	if config.QueueSize == 0 {
		config.QueueSize = 4096
	}
	service := &Service{
		Config: config, queue: make(chan match.Result, config.QueueSize), retryRequests: make(chan retryRequest), stopped: make(chan struct{}),
		refusedResults: map[matchKey]refusedResult{}, holds: gameHolds{}, notified: map[matchKey]bool{},
	}
	service.metrics = newMetrics(config.Registry, func() float64 { return float64(len(service.queue)) })
	service.notifier = notifier{config: &service.Config, metrics: service.metrics, outboxes: map[string]chan match.Result{}}
	return service
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
// Then it settles the results already offered, for at most stopTimeout. The rest
// stays pending. It returns nil once everything that it started has ended.
func (s *Service) Run(ctx context.Context) error {
	workCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var stopTimer sync.WaitGroup
	stopTimer.Go(func() {
		select {
		case <-ctx.Done():
			loop.Sleep(workCtx, stopTimeout)
			cancel()
		case <-workCtx.Done():
		}
	})
	s.runLoop(ctx, workCtx)
	close(s.stopped)
	s.notifier.close()
	cancel()
	stopTimer.Wait()
	return nil
}

// runLoop handles offered results, requests of operators and sweeps, one at a time.
// It starts with a sweep, for the results that a former process left.
func (s *Service) runLoop(ctx, workCtx context.Context) {
	sweeps := time.NewTicker(sweepInterval)
	defer sweeps.Stop()
	nextPage := make(chan struct{}, 1) // has a value while a sweep left results
	loop.Wake(nextPage)
	for ctx.Err() == nil {
		mustSweep := false
		select {
		case <-ctx.Done():
		case result := <-s.queue:
			s.settleBatch(workCtx, s.collectBatch(ctx, result), false)
		case request := <-s.retryRequests:
			request.done <- s.commitDeadLetter(workCtx, request.result)
		case <-sweeps.C:
			mustSweep = true
		case <-nextPage:
			mustSweep = true
		}
		if mustSweep && s.sweepPending(workCtx) {
			loop.Wake(nextPage)
		}
	}
	for len(s.queue) > 0 && workCtx.Err() == nil {
		s.settleBatch(workCtx, s.collectBatch(workCtx, <-s.queue), false)
	}
	if n := len(s.queue); n > 0 {
		s.metrics.countFailures(reasonStopped, n)
		s.Logger.Warn("settlement stopped with unsettled results; results stay pending", "results", n)
	}
}
