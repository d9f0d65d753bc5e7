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
	// maxRegistrationBatch bounds the players of one transaction.
	maxRegistrationBatch = 256
	// registrationTimeout bounds a transaction of players who have waited.
	registrationTimeout = 5 * time.Second
)

// registrationBatcher let new players into the ledger together: while as many transactions
// are under way as there are lanes, who comes waits, and all who wait go with the
// next. So who comes alone waits for nobody. As many wait as there are calls: who
// makes these bounds them.
type registrationBatcher struct {
	admit      func(context.Context, []*registration) error // sets created of each; after an error nobody is in, but see Ledger.inTx
	workers    int
	batchSizes prometheus.Histogram

	mu          sync.Mutex
	closed      bool
	busyWorkers int // lanes
	waiting     []*registration
	running     sync.WaitGroup // the busy lanes
}

// registration is a player to be who waits for the ledger's word.
type registration struct {
	identity.NewPlayer
	ctx     context.Context //nolint:containedctx // of the one who waits; nobody else's
	done    chan error      // tells that created is set, or what went wrong; nil of who has not waited
	created bool
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

// register takes a player in, and says whether that made one: not where id, device
// or skeleton are taken. Whose context ends while others go is let go, and is
// in with them or not at all.
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

// joinOrStart has an arrival wait where all lanes are busy; else it has one.
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
	a.done = make(chan error, 1) // who has given up does not take it
	q.waiting = append(q.waiting, a)
	return true, nil
}

// runWaiting takes in on a lane who has come meanwhile, in a goroutine that ends when
// nobody waits: each transaction is bounded.
func (q *registrationBatcher) runWaiting() {
	if batch := q.nextBatch(); batch != nil {
		go func() { // close waits for its lane
			for ; batch != nil; batch = q.nextBatch() {
				q.sendBatch(batch)
			}
		}()
	}
}

// nextBatch takes those who go together, none whom nobody waits for any more. Nil
// where there is none: the lane is free.
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

// sendBatch takes a batch in. If one of them was at fault they go one by one, so
// that it fails alone.
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

// isBatchFault says whether another transaction, with fewer in it, may do: not
// where the database is out of reach, unless it has broken a circle of locks.
func isBatchFault(err error) bool {
	fault, ok := errors.AsType[*pgconn.PgError](err)
	return err != nil && (!Unavailable(err) || ok && fault.Code == "40P01")
}

// sendSafely makes a panic an error: it would take those with it who have done
// nothing.
func (q *registrationBatcher) sendSafely(ctx context.Context, batch []*registration) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v: %s", fault, debug.Stack()) // nobody above sees where
		}
	}()
	return q.send(ctx, batch)
}

func (q *registrationBatcher) send(ctx context.Context, batch []*registration) error {
	q.batchSizes.Observe(float64(len(batch)))
	for _, a := range batch {
		a.created = false // by a transaction that came to nothing
	}
	return q.admit(ctx, batch)
}

// close refuses who waits and who comes, and waits for the transactions under
// way.
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
