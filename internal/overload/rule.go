package overload

import (
	"context"
	"math"
	"time"

	"laststand/internal/protocol"
)

// Rule limits the rate of actions of each key. A nil rule allows all. It is safe for
// concurrent use.
//
// A node stores a limited number of keys. It evicts keys whose bucket is full. It evicts
// other keys only if there are too many keys, and counts these evictions. An evicted key
// has a full bucket at its next use. The shared store evicts nothing.
type Rule struct {
	config   RuleConfig
	dryRun   bool
	store    Store // nil: only this node's buckets count
	buckets  *bucketTable
	counters ruleCounters
}

// Take takes cost tokens of a key. If they are missing, it takes none and returns a
// *protocol.Error of code rate_limited with the time to retry. A cost above the burst
// means the whole bucket.
func (r *Rule) Take(ctx context.Context, key Key, cost int) error {
	return r.decide(ctx, key, cost, Take)
}

// Check returns the error that Take of one token would return, and takes no token.
func (r *Rule) Check(ctx context.Context, key Key) error {
	return r.decide(ctx, key, 1, Check)
}

// Charge takes cost tokens even if they are missing. Missing tokens become a debt of at
// most a full bucket. It counts an action that has succeeded after a Check.
func (r *Rule) Charge(ctx context.Context, key Key, cost int) {
	if r != nil && cost > 0 {
		r.waitTime(ctx, key, cost, Charge)
	}
}

// hasToken returns true if the key has a token. It changes no metric. A nil rule and a rule
// in dry run always have one.
func (r *Rule) hasToken(ctx context.Context, key Key) bool {
	return r == nil || r.dryRun || r.waitTime(ctx, key, 1, Check) <= 0
}

// TakeIfAvailable takes a token of a key if the key has one. It is for requests that are
// refused anyway and must cause no debt.
func (r *Rule) TakeIfAvailable(ctx context.Context, key Key) {
	if r != nil {
		r.waitTime(ctx, key, 1, Take)
	}
}

// checkLocal is Check without a call of the shared store.
func (r *Rule) checkLocal(key Key) error {
	if r == nil {
		return nil
	}
	now := time.Now()
	return r.countOutcome(r.bucket(now, key).knownWait(now, 1), Check)
}

// usedTokens returns how many tokens are missing in this node's bucket of a key.
func (r *Rule) usedTokens(key Key) int {
	now := time.Now()
	return int(math.Ceil(float64(r.config.Burst) - r.bucket(now, key).tokens.TokensAt(now)))
}

// decide applies a demand and returns the refusal, nil if it is allowed.
func (r *Rule) decide(ctx context.Context, key Key, cost int, mode Mode) error {
	if r == nil || cost <= 0 {
		return nil
	}
	return r.countOutcome(r.waitTime(ctx, key, cost, mode), mode)
}

// countOutcome counts the outcome of a demand. It returns the refusal if wait is above 0
// and the rule is not in dry run.
func (r *Rule) countOutcome(wait time.Duration, mode Mode) error {
	switch {
	case wait <= 0:
		if mode == Take {
			r.counters.allowed.Inc()
		}
		return nil
	case r.dryRun:
		r.counters.wouldRefuse.Inc()
		return nil
	}
	return r.refuse(wait)
}

// refuse counts a refusal and returns the error for the client. wait is its retry time.
func (r *Rule) refuse(wait time.Duration) error {
	r.counters.refused.Inc()
	ms := (wait + time.Millisecond - 1).Milliseconds()
	return protocol.RetryAfter(protocol.CodeRateLimited, ms, "too many %s: at most %s; try again in %d s",
		r.config.Subject, r.config.rateText(), (ms+999)/1000)
}

// waitTime applies a demand. It returns 0, or how long until the tokens are available. A
// cluster-wide rule uses this node's bucket first and then the shared one. If this node's
// bucket alone has too few tokens, the shared one has too few as well. So a flood of
// requests to one node does not reach the store.
func (r *Rule) waitTime(ctx context.Context, key Key, cost int, mode Mode) time.Duration {
	demand, now := r.newSharedDemand(key, cost, mode), time.Now()
	bucket, local := r.bucket(now, key), r.newLocalDemand(demand)
	if r.store == nil {
		return bucket.apply(now, local, mode)
	}
	if wait := bucket.knownWait(now, local.required); wait > 0 && mode != Charge {
		return wait
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	wait, err := r.store.Take(ctx, demand)
	if err != nil {
		r.counters.storeErrors.Inc()
		return bucket.apply(time.Now(), local, mode)
	}
	bucket.applySharedWait(time.Now(), local, wait, mode)
	return wait
}

// newLocalDemand returns a demand for the bucket at this node. That bucket has the rule's
// burst. If the demand has a smaller burst, the bucket must have the difference as
// additional tokens.
func (r *Rule) newLocalDemand(demand SharedDemand) localDemand {
	return localDemand{demand.Cost, demand.Cost + r.config.Burst - demand.Burst}
}

// bucket returns the bucket of a key at this node.
func (r *Rule) bucket(now time.Time, key Key) *bucket {
	key.burst = 0
	return r.buckets.get(now, key, func() *bucket { return newBucket(r.config.Limit, r.config.Burst, r.config.Per) })
}

// newSharedDemand returns a demand for cost tokens of a key. A cost above the burst means
// the whole bucket.
func (r *Rule) newSharedDemand(key Key, cost int, mode Mode) SharedDemand {
	burst := r.config.Burst
	if key.burst > 0 {
		burst = min(burst, max(key.burst, r.config.Limit))
	}
	return SharedDemand{
		Rule: r.config.Name, Key: key.String(), Cost: min(cost, burst), Burst: burst, Interval: tokenInterval(r.config.Limit, r.config.Per), Mode: mode,
	}
}

// tokenInterval returns the time in which a bucket gets one token, in whole microseconds.
func tokenInterval(limit int, per time.Duration) time.Duration {
	return max((per / time.Duration(limit)).Truncate(time.Microsecond), time.Microsecond)
}

// refillTime returns the time after which any unused bucket is full, even one with the
// largest debt.
func (r *Rule) refillTime() time.Duration {
	refill := float64(r.config.Burst) / float64(r.config.Limit) * float64(r.config.Per)
	return 2 * max(time.Duration(refill), r.config.Per)
}
