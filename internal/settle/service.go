package settle

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	CountsForLeaderboards bool // also for totals; false above a limit that only the ledger knows
	IsNew                 bool // false: the ledger had it before

	// Standings are those of a rated result, with the ratings that the ledger
	// computed; nil for any other result.
	Standings []match.Standing
}

// Pending stores the results of all nodes that the ledger does not have yet.
// ReadResults returns at most limit of them, with their standings. MarkSettled frees
// the players of results, marks their matches settled and removes the results. It also
// marks whether a result counts for leaderboards; the nodes of its players look for that.
// After an error some results may still be pending; callers may repeat it.
// CompleteStandings reads the standings of an incomplete result, pending or not. It
// returns match.ErrNotFound if the standings no longer exist or this node cannot read
// them.
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
	Notify        func(context.Context, []match.Result) // notifies the players when the leaderboards show results of one game; one call at a time per game
	IsUnavailable func(error) bool                      // whether a call of the ledger that ended with this error may succeed later
	IsRefusal     func(error) bool                      // whether an error of the ledger is the fault of a result, so that no retry helps
	Now           func() int64                          // cluster time, epoch ms
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
	metrics *metrics
	queue   chan match.Result
	retries chan func(workCtx context.Context) // calls that settle dead letters, for the loop
	stopped chan struct{}                      // closed when the service accepts no more results

	// Only Run's loop uses the fields below.
	outboxes       map[string]chan match.Result // by game: see notify
	outboxWorkers  sync.WaitGroup
	refusedResults map[matchKey]refusedResult
	holds          gameHolds
	ledgerDown     bool // true: the last call of the ledger got no answer
}

// New returns a service. It does nothing before Run.
func New(config Config) *Service {
	config.BatchSize, config.QueueSize = cmp.Or(config.BatchSize, 256), cmp.Or(config.QueueSize, 4096)
	queue := make(chan match.Result, config.QueueSize)
	return &Service{
		Config: config, metrics: newMetrics(config.Registry, func() float64 { return float64(len(queue)) }),
		queue: queue, retries: make(chan func(context.Context)), stopped: make(chan struct{}),
		outboxes: map[string]chan match.Result{}, refusedResults: map[matchKey]refusedResult{}, holds: gameHolds{},
	}
}
