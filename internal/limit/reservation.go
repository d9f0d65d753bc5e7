package limit

import (
	"context"
	"time"
)

// reservation is a reserved token. finish spends or returns it.
type reservation struct {
	rule        *Rule
	bucket      *bucket
	demand      SharedDemand
	isLocalOnly bool // reserved only in this node's bucket, not in the shared store
}

type reservations []reservation

// finish ends all reservations. If spent is false, it returns the tokens. It also works
// after ctx has ended: a client that disconnects must still pay for its attempt.
func (reserved reservations) finish(ctx context.Context, spent bool) {
	for _, res := range reserved {
		res.bucket.finishReservation(time.Now(), spent)
		if res.isLocalOnly {
			continue
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
		if res.rule.store.FinishReservation(ctx, res.demand, spent) != nil {
			res.rule.counters.storeErrors.Inc() // the store spends it when the reservation expires
		}
		cancel()
	}
}

// The pauses between attempts to reserve a token: each is twice the one before. Together
// they take a second.
const (
	firstRetryPause = 2 * time.Millisecond
	lastRetryPause  = 512 * time.Millisecond
)

// reserve reserves a token of a key, or returns how long until one is available. While all
// tokens are reserved, it waits for one, at most a second, or until isNoLongerNeeded
// returns true. It returns no reservation and no wait if no token is needed, or if a rule
// in dry run would refuse.
func (r *Rule) reserve(ctx context.Context, key Key, isNoLongerNeeded func() bool) (reservations, time.Duration) {
	res, wait := r.tryReserve(ctx, key)
	for pause := firstRetryPause; wait == RetrySoon; pause *= 2 {
		if pause > lastRetryPause || !sleep(ctx, pause) {
			wait = time.Second
			break
		}
		if isNoLongerNeeded() {
			return nil, 0
		}
		res, wait = r.tryReserve(ctx, key)
	}
	switch {
	case wait == 0:
		return reservations{res}, 0
	case r.dryRun:
		r.counters.wouldRefuse.Inc()
		return nil, 0
	}
	return nil, wait
}

// sleep waits for the duration and returns true. If ctx ends first, it returns false.
func sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// tryReserve reserves a token in this node's bucket, and then in the shared one. It returns
// how long until a token is available, 0 if it has reserved one.
func (r *Rule) tryReserve(ctx context.Context, key Key) (res reservation, wait time.Duration) {
	now := time.Now()
	res = reservation{r, r.bucket(now, key), r.newSharedDemand(key, 1, ""), r.store == nil}
	if wait = res.bucket.reserve(now); wait != 0 || res.isLocalOnly {
		return res, wait
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	wait, err := r.store.Reserve(ctx, res.demand)
	switch {
	case err != nil:
		r.counters.storeErrors.Inc()
		res.isLocalOnly = true
		return res, 0
	case wait > RetrySoon:
		res.bucket.applySharedWait(time.Now(), localDemand{1, 1}, wait, Check)
	}
	if wait != 0 {
		res.bucket.finishReservation(time.Now(), false)
	}
	return res, wait
}

// addSecret stores that an attempt's secret is right for its address, at this node and in
// the shared store.
func (r *Rule) addSecret(ctx context.Context, attempt Attempt) {
	bucket := r.bucket(time.Now(), attempt.Address)
	if !bucket.addSecret(time.Now(), attempt.Secret) || r.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if r.store.AddSecret(ctx, r.config.Name, attempt.Address.String(), attempt.Secret) != nil {
		r.counters.storeErrors.Inc()
		bucket.markPublishFailed(time.Now(), attempt.Secret)
	}
}

// knowsSecret returns true if this node knows that an attempt's secret is right for its
// address.
func (r *Rule) knowsSecret(attempt Attempt) bool {
	return r.bucket(time.Now(), attempt.Address).knowsSecret(attempt.Secret)
}

// fetchInterval is the least time between two fetches of the secrets of other nodes, per
// key. A node fetches them when it would refuse an attempt. It is also the pause after a
// failed publication.
const fetchInterval = time.Second

// fetchSecret returns true if any node knows that an attempt's secret is right for its
// address. It fetches the secrets from the shared store if the last fetch is old enough.
func (r *Rule) fetchSecret(ctx context.Context, attempt Attempt) bool {
	bucket := r.bucket(time.Now(), attempt.Address)
	if r.store != nil && bucket.startFetch(time.Now()) {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		secrets, err := r.store.ListSecrets(ctx, r.config.Name, attempt.Address.String())
		if err != nil {
			r.counters.storeErrors.Inc()
		}
		for _, secret := range secrets {
			bucket.addSecret(time.Now(), secret)
		}
	}
	return bucket.knowsSecret(attempt.Secret)
}
