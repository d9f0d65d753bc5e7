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

// Ledger is the truth. Commit takes all results or none, each match once, and
// answers in their order once they are on disk.
type Ledger interface {
	Commit(ctx context.Context, results []match.Result) ([]Committed, error)
}

// Pending holds the results that the ledger does not have yet, those of every
// node. Results gives some of them, whole. Settled removes results, marks their
// matches settled and frees their players; it may be told of one again. Complete
// reads the standings of a result that is not whole, pending or not;
// match.ErrNotFound: they are gone, or this node cannot read them.
type Pending interface {
	Results(ctx context.Context, limit int) ([]match.Result, error)
	MarkSettled(ctx context.Context, results []match.Result) error
	Complete(ctx context.Context, r *match.Result) error
}

// Tasks keeps the dead letters, on disk once AddTask returns; that changes
// nothing where the key is there already. ChangeTask has one caller at a time
// change a task.
type DeadLetters interface {
	AddTask(ctx context.Context, t taskqueue.Task) (added bool, err error)
	Task(ctx context.Context, id string) (taskqueue.Task, error)
	ChangeTask(ctx context.Context, id string, change func(*taskqueue.Task) error) (taskqueue.Task, error)
}

// Boards are views of the ledger. After Apply they show what the game's ledger
// held when it was called.
type Leaderboards interface {
	Apply(ctx context.Context, game string) error
}

// Config is what a settler is made of. The fields of the first group are
// needed, zero values of the second mean what is said there.
type Config struct {
	Ledger        Ledger
	Pending       Pending
	DeadLetters   DeadLetters
	Leaderboards  Leaderboards
	Notify        func(context.Context, match.Result) // the boards show it; called for one game's results in turn
	IsUnavailable func(error) bool                    // an error of the ledger is an outage, which passes
	IsRefusal     func(error) bool                    // an error of the ledger is the fault of a result, which no retry mends
	Now           func() int64                        // cluster time, epoch ms
	Logger        *slog.Logger
	Registry      prometheus.Registerer

	BatchSize        int           // results of one commit at most; 256
	BatchDelay       time.Duration // how long the first of a batch waits for others; 5 ms
	QueueSize        int           // offered results that may wait; 4096
	LeaderboardQueue int           // results of a game that may wait for its boards; 4096
	SweepInterval    time.Duration // between sweeps, and the age from which they take a result; 2 s
	StopTimeout      time.Duration // how long a stop goes on with what was offered; 5 s
}

// Settler takes results to where they belong. Its methods may be called
// concurrently, Run once.
type Settler struct {
	Config
	metrics *metrics
	queue   chan match.Result
	retries chan retryRequest
	ended   chan struct{} // closed once nothing is taken on any more

	// What follows belongs to Run's loop.
	refused  map[matchKey]refusedResult
	holds    map[string]*hold  // by game
	notified map[matchKey]bool // shown, yet still pending: not to be told again
	outage   bool              // the ledger did not answer the last time
	outboxes map[string]chan<- match.Result
	running  sync.WaitGroup
}

type matchKey struct{ game, id string }

func keyOf(r match.Result) matchKey { return matchKey{r.Game, r.Match} }

// New makes a settler. Nothing happens before Run.
func New(c Config) *Settler {
	orDefault(&c.BatchSize, 256)
	orDefault(&c.QueueSize, 4096)
	orDefault(&c.LeaderboardQueue, 4096)
	orDefault(&c.BatchDelay, 5*time.Millisecond)
	orDefault(&c.SweepInterval, 2*time.Second)
	orDefault(&c.StopTimeout, 5*time.Second)
	s := &Settler{
		Config: c, queue: make(chan match.Result, c.QueueSize), retries: make(chan retryRequest), ended: make(chan struct{}),
		refused: map[matchKey]refusedResult{}, holds: map[string]*hold{}, notified: map[matchKey]bool{}, outboxes: map[string]chan<- match.Result{},
	}
	s.metrics = newMetrics(c.Registry, func() float64 { return float64(len(s.queue)) })
	return s
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Offer hands over a result that is pending. It never blocks: false says that
// the queue is full or the settler has stopped, which is counted, or that the
// standings are not in the result; then a sweep, here or elsewhere, reads it
// and settles it later.
func (s *Settler) Offer(r match.Result) bool {
	if !r.IsComplete() {
		return false
	}
	select {
	case <-s.ended:
		s.metrics.countFailures(reasonStopped, 1)
		return false
	default:
	}
	select {
	case s.queue <- r:
		return true
	default:
		s.metrics.countFailures(reasonQueueFull, 1)
		return false
	}
}

// Run settles what is offered and what sweeps find until the context ends, then
// what had been offered, for as long as Drain; what is left stays pending. It
// returns nil once everything that it started has ended.
func (s *Settler) Run(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var stopTimer sync.WaitGroup
	stopTimer.Go(func() { cancelLater(ctx, work, s.StopTimeout, cancel) })
	s.loop(ctx, work)
	close(s.ended)
	for _, outbox := range s.outboxes {
		close(outbox)
	}
	s.running.Wait()
	cancel()
	stopTimer.Wait()
	return nil
}

// endLater ends the work some time after ctx has ended, or returns when the
// work has.
func cancelLater(ctx, work context.Context, after time.Duration, end context.CancelFunc) {
	select {
	case <-ctx.Done():
	case <-work.Done():
		return
	}
	sleep(work, after)
	end()
}

// loop takes turns between what is offered, what an operator asks for and
// sweeps. It begins with a sweep, for what a former process left.
func (s *Settler) loop(ctx, work context.Context) {
	sweeps := time.NewTicker(s.SweepInterval)
	defer sweeps.Stop()
	more := s.sweep(work)
	for ctx.Err() == nil {
		var next chan struct{} // ready at once while a sweep has left some
		if more {
			next = alwaysReady
		}
		select {
		case <-ctx.Done():
		case r := <-s.queue:
			s.settle(work, s.collectBatch(ctx, r), false)
		case request := <-s.retries:
			request.done <- s.commitDeadLetter(work, request.result)
		case <-sweeps.C:
			more = s.sweep(work)
		case <-next:
			more = s.sweep(work)
		}
	}
	s.drain(work)
}

// ready is a channel that never blocks a receiver.
var alwaysReady = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// drain settles what was offered until the work's time is over.
func (s *Settler) drain(work context.Context) {
	for work.Err() == nil {
		select {
		case r := <-s.queue:
			s.settle(work, s.collectBatch(work, r), false)
		default:
			return
		}
	}
	if n := len(s.queue); n > 0 {
		s.metrics.countFailures(reasonStopped, n)
		s.Logger.Warn("settlement stopped with unsettled results; results stay pending", "results", n)
	}
}
