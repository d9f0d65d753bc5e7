package ledger

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/identity"
)

const (
	// maxRegistrationBatch limits the players of one transaction.
	maxRegistrationBatch = 256
	// registrationTimeout limits the duration of a transaction of waiting players.
	registrationTimeout = 5 * time.Second
)

// registrationBatcher inserts new players together. If fewer transactions run than
// maxWorkers, a registration starts one immediately. Otherwise it waits, and the next
// transaction inserts all waiting players, up to maxRegistrationBatch. The callers limit
// how many wait.
type registrationBatcher struct {
	admit      func(context.Context, []*registration) error // Ledger.admit: sets created of each; after an error none is inserted
	workers    int                                          // transactions that may run at the same time
	batchSizes prometheus.Histogram

	mu          sync.Mutex
	closed      bool
	busyWorkers int // transactions that run now
	waiting     []*registration
	running     sync.WaitGroup // the busy workers
}

// registration is a new player to insert.
type registration struct {
	identity.NewPlayer
	ctx     context.Context //nolint:containedctx // context of the waiting caller only
	done    chan error      // receives the error of the transaction; nil: the caller does not wait
	created bool            // whether the player was inserted
}

func (a *registration) outcome(err error) (created bool, _ error) {
	return a.created && err == nil, err
}

var errClosed = errors.New("the ledger is closed")

func newBatchSizes(r prometheus.Registerer) prometheus.Histogram {
	return promauto.With(r).NewHistogram(prometheus.HistogramOpts{
		Name: "laststand_ledger_registration_batch_size", Help: "New players per registration transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
}

// register inserts a player, and reports whether it was created. It is not if the id, the
// device or the skeleton is taken. If ctx ends while the player waits, register returns
// immediately; the player may be inserted or not.
func (q *registrationBatcher) register(ctx context.Context, p identity.NewPlayer) (created bool, err error) {
	a := &registration{NewPlayer: p, ctx: ctx}
	mustWait, err := q.joinOrStart(a)
	if err != nil {
		return false, err
	}
	if !mustWait {
		defer q.runWaiting()
		return a.outcome(q.send(ctx, []*registration{a}))
	}
	select {
	case err := <-a.done:
		return a.outcome(err)
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// joinOrStart queues a registration if all workers are busy; then the caller must wait.
// Otherwise the caller becomes a worker and must insert the player itself.
func (q *registrationBatcher) joinOrStart(a *registration) (mustWait bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return false, errClosed
	case q.busyWorkers < q.workers:
		q.busyWorkers++
		q.running.Add(1)
		return false, nil
	}
	a.done = make(chan error, 1) // buffered, because the caller may not wait any more
	q.waiting = append(q.waiting, a)
	return true, nil
}

// runWaiting inserts the waiting players in a goroutine, which ends when none waits. If
// none waits now, it frees the worker.
func (q *registrationBatcher) runWaiting() {
	if batch := q.nextBatch(); batch != nil {
		go func() { // close waits for it
			for ; batch != nil; batch = q.nextBatch() {
				q.sendBatch(batch)
			}
		}()
	}
}

// nextBatch removes the next waiting players from the queue and returns them. It leaves
// out those whose callers do not wait any more. If there are none, it frees the worker
// and returns nil.
func (q *registrationBatcher) nextBatch() (batch []*registration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	seen := 0
	for ; seen < len(q.waiting) && len(batch) < maxRegistrationBatch; seen++ {
		if a := q.waiting[seen]; a.ctx.Err() == nil {
			batch = append(batch, a)
		}
	}
	q.waiting = q.waiting[seen:]
	if batch == nil {
		q.waiting = nil
		q.busyWorkers--
		q.running.Done()
	}
	return batch
}

// sendBatch inserts a batch and sends the outcome to each caller. If one player may have
// caused an error, it inserts all one by one, so that only that one fails.
func (q *registrationBatcher) sendBatch(batch []*registration) {
	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	defer cancel()
	err := q.sendSafely(ctx, batch)
	for i, a := range batch {
		if len(batch) > 1 && isBatchFault(err) {
			a.done <- q.sendSafely(a.ctx, batch[i:i+1])
		} else {
			a.done <- err
		}
	}
}

// isBatchFault reports whether transactions of one player each may succeed after an
// error. They may after a deadlock (SQLSTATE 40P01) and after errors of the data, but not
// if the database is unavailable.
func isBatchFault(err error) bool {
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return err != nil && (!Unavailable(err) || ok && fault.Code == "40P01")
}

// sendSafely inserts a batch, and turns a panic into an error, so that the panic does not
// affect other callers.
func (q *registrationBatcher) sendSafely(ctx context.Context, batch []*registration) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v: %s", fault, debug.Stack()) // with the stack, because recover discards it
		}
	}()
	return q.send(ctx, batch)
}

func (q *registrationBatcher) send(ctx context.Context, batch []*registration) error {
	q.batchSizes.Observe(float64(len(batch)))
	for _, a := range batch {
		a.created = false // a former transaction may have set it before it failed
	}
	return q.admit(ctx, batch)
}

// close refuses waiting and later registrations, and waits for the running transactions.
func (q *registrationBatcher) close() {
	q.mu.Lock()
	q.closed = true
	for _, a := range q.waiting {
		a.done <- errClosed
	}
	q.waiting = nil
	q.mu.Unlock()
	q.running.Wait()
}
