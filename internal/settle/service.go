package settle

import (
	"time"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

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
	ledgerDown     bool // true: the last call of the ledger got no answer
}

// retryRequest asks the loop to settle a dead letter's result. The loop always
// answers.
type retryRequest struct {
	result match.Result
	done   chan error
}

// refusedResult is a result that the ledger refused. It stays pending, so nothing
// is lost. deadLetter is the task that it will become, without the payload.
type refusedResult struct {
	deadLetter taskqueue.Task
	retryAt    time.Time // the next attempt is in the first sweep after this
}

func (r refusedResult) isKnown() bool { return !r.retryAt.IsZero() }

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
		refusedResults: map[matchKey]refusedResult{}, holds: gameHolds{},
	}
	service.metrics = newMetrics(config.Registry, func() float64 { return float64(len(service.queue)) })
	service.notifier = notifier{config: &service.Config, metrics: service.metrics, outboxes: map[string]chan match.Result{}}
	return service
}
