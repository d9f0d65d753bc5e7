package limit

import (
	"context"
	"time"
)

// reservation is a reserved token. finish spends or returns it.
type reservation struct {
	rule      *Rule
	bucket    *bucket
	demand    Demand
	localOnly bool // reserved only in this node's bucket, not in the shared store
}

type reservations []reservation

// finish ends all reservations. If spent is false, it returns the tokens. It also works
// after ctx has ended: a client that disconnects must still pay for its attempt.
func (all reservations) finish(ctx context.Context, spent bool) {
	for _, res := range all {
		res.bucket.finishReservation(time.Now(), spent)
		if res.localOnly {
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
	firstPause = 2 * time.Millisecond
	lastPause  = 512 * time.Millisecond
)

// reserve reserves a token of a key, or returns how long until one is available. While all
// tokens are reserved, it waits for one, at most a second, or until isNoLongerNeeded
// returns true. It returns no reservation and no wait if no token is needed, or if a rule
// in dry run would refuse.
func (r *Rule) reserve(ctx context.Context, k Key, isNeedless func() bool) (reservations, time.Duration) {
	res, wait := r.tryReserve(ctx, k)
	for pause := firstPause; wait == RetrySoon; pause *= 2 {
		if pause > lastPause || !sleep(ctx, pause) {
			wait = time.Second
			break
		}
		if isNeedless() {
			return nil, 0
		}
		res, wait = r.tryReserve(ctx, k)
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
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
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
func (r *Rule) tryReserve(ctx context.Context, k Key) (res reservation, wait time.Duration) {
	now := time.Now()
	res = reservation{r, r.bucket(now, k), r.newDemand(k, 1, ""), r.store == nil}
	if wait = res.bucket.reserve(now); wait != 0 || res.localOnly {
		return res, wait
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	wait, err := r.store.Reserve(ctx, res.demand)
	switch {
	case err != nil:
		r.counters.storeErrors.Inc()
		res.localOnly = true
		return res, 0
	case wait > RetrySoon:
		res.bucket.applySharedWait(time.Now(), amount{1, 1}, wait, Check)
	}
	if wait != 0 {
		res.bucket.finishReservation(time.Now(), false)
	}
	return res, wait
}

// addSecret stores that an attempt's secret is right for its address, at this node and in
// the shared store.
func (r *Rule) addSecret(ctx context.Context, a Attempt) {
	b := r.bucket(time.Now(), a.Address)
	if !b.addSecret(time.Now(), a.Secret) || r.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if r.store.AddSecret(ctx, r.config.Name, a.Address.String(), a.Secret) != nil {
		r.counters.storeErrors.Inc()
		b.markUnpublished(time.Now(), a.Secret)
	}
}

// knowsSecret returns true if this node knows that an attempt's secret is right for its
// address.
func (r *Rule) knowsSecret(a Attempt) bool {
	return r.bucket(time.Now(), a.Address).knowsSecret(a.Secret)
}

// fetchInterval is the least time between two fetches of the secrets of other nodes, per
// key. A node fetches them when it would refuse an attempt. It is also the pause after a
// failed publication.
const fetchEvery = time.Second

// fetchSecret returns true if any node knows that an attempt's secret is right for its
// address. It fetches the secrets from the shared store if the last fetch is old enough.
func (r *Rule) fetchSecret(ctx context.Context, a Attempt) bool {
	b := r.bucket(time.Now(), a.Address)
	if r.store != nil && b.startFetch(time.Now()) {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		secrets, err := r.store.ListSecrets(ctx, r.config.Name, a.Address.String())
		if err != nil {
			r.counters.storeErrors.Inc()
		}
		for _, s := range secrets {
			b.addSecret(time.Now(), s)
		}
	}
	return b.knowsSecret(a.Secret)
}
