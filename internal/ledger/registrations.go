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
	maxWorkers int                                          // transactions that may run at the same time
	batchSizes prometheus.Histogram

	mu          sync.Mutex
	isClosed    bool
	busyWorkers int // transactions that run now
	waiting     []*registration
	running     sync.WaitGroup // the busy workers
}

// registration is a new player to insert.
type registration struct {
	identity.NewPlayer
	ctx      context.Context //nolint:containedctx // context of the waiting caller only
	outcomes chan error      // receives the error of the transaction; nil: the caller does not wait
	created  bool            // whether the player was inserted
}

func (r *registration) outcome(err error) (created bool, _ error) {
	return r.created && err == nil, err
}

func newBatchSizes(r prometheus.Registerer) prometheus.Histogram {
	return promauto.With(r).NewHistogram(prometheus.HistogramOpts{
		Name: "laststand_ledger_registration_batch_size", Help: "New players per registration transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
}

// register inserts a player, and reports whether it was created. It is not if the id, the
// device or the skeleton is taken. If ctx ends while the player waits, register returns
// immediately; the player may be inserted or not.
func (b *registrationBatcher) register(ctx context.Context, p identity.NewPlayer) (created bool, err error) {
	reg := &registration{NewPlayer: p, ctx: ctx}
	mustWait, err := b.joinOrStart(reg)
	if err != nil {
		return false, err
	}
	if !mustWait {
		defer b.startWaiting()
		return reg.outcome(b.admitBatch(ctx, []*registration{reg}))
	}
	select {
	case err := <-reg.outcomes:
		return reg.outcome(err)
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// joinOrStart queues a registration if all workers are busy; then the caller must wait.
// Otherwise the caller becomes a worker and must insert the player itself.
func (b *registrationBatcher) joinOrStart(reg *registration) (mustWait bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.isClosed:
		return false, errClosed
	case b.busyWorkers < b.maxWorkers:
		b.busyWorkers++
		b.running.Add(1)
		return false, nil
	}
	reg.outcomes = make(chan error, 1) // buffered, because the caller may not wait any more
	b.waiting = append(b.waiting, reg)
	return true, nil
}

// startWaiting inserts the waiting players in a goroutine, which ends when none waits. If
// none waits now, it frees the worker.
func (b *registrationBatcher) startWaiting() {
	if batch := b.nextBatch(); batch != nil {
		go func() { // close waits for it
			for ; batch != nil; batch = b.nextBatch() {
				b.admitAndReply(batch)
			}
		}()
	}
}

// nextBatch removes the next waiting players from the queue and returns them. It leaves
// out those whose callers do not wait any more. If there are none, it frees the worker
// and returns nil.
func (b *registrationBatcher) nextBatch() (batch []*registration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	removed := 0
	for ; removed < len(b.waiting) && len(batch) < maxRegistrationBatch; removed++ {
		if reg := b.waiting[removed]; reg.ctx.Err() == nil {
			batch = append(batch, reg)
		}
	}
	b.waiting = b.waiting[removed:]
	if batch == nil {
		b.waiting = nil
		b.busyWorkers--
		b.running.Done()
	}
	return batch
}

// admitAndReply inserts a batch and sends the outcome to each caller. If one player may have
// caused an error, it inserts all one by one, so that only that one fails.
func (b *registrationBatcher) admitAndReply(batch []*registration) {
	ctx, cancel := context.WithTimeout(context.Background(), registrationTimeout)
	defer cancel()
	err := b.admitWithRecover(ctx, batch)
	for i, reg := range batch {
		if len(batch) > 1 && shouldRetrySingly(err) {
			reg.outcomes <- b.admitWithRecover(reg.ctx, batch[i:i+1])
		} else {
			reg.outcomes <- err
		}
	}
}

// shouldRetrySingly reports whether transactions of one player each may succeed after an
// error. They may after a deadlock (SQLSTATE 40P01) and after errors of the data, but not
// if the database is unavailable.
func shouldRetrySingly(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return err != nil && (!IsUnavailable(err) || ok && pgErr.Code == "40P01")
}

// admitWithRecover inserts a batch, and turns a panic into an error, so that the panic does not
// affect other callers.
func (b *registrationBatcher) admitWithRecover(ctx context.Context, batch []*registration) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v: %s", fault, debug.Stack()) // with the stack, because recover discards it
		}
	}()
	return b.admitBatch(ctx, batch)
}

func (b *registrationBatcher) admitBatch(ctx context.Context, batch []*registration) error {
	b.batchSizes.Observe(float64(len(batch)))
	for _, reg := range batch {
		reg.created = false // a former transaction may have set it before it failed
	}
	return b.admit(ctx, batch)
}

// close refuses waiting and later registrations, and waits for the running transactions.
func (b *registrationBatcher) close() {
	b.mu.Lock()
	b.isClosed = true
	for _, reg := range b.waiting {
		reg.outcomes <- errClosed
	}
	b.waiting = nil
	b.mu.Unlock()
	b.running.Wait()
}
