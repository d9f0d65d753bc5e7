package overload

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
)

// Rule limits the rate of actions of each key. A nil rule allows all. It is safe for
// concurrent use.
//
// A node stores a limited number of keys. An evicted key has a full bucket at its next
// use. The shared store evicts only full buckets.
type Rule struct {
	*Cap

	config               RuleConfig
	store                Store // nil: only this node's buckets count
	buckets              *bucketTable
	allowed, storeErrors prometheus.Counter
}

// Take takes cost tokens of a key. If they are missing, it takes none and returns a
// *protocol.Error of code rate_limited with the time to retry. A cost above the burst
// means the whole bucket.
func (r *Rule) Take(ctx context.Context, key Key, cost int) error {
	if r == nil || cost <= 0 {
		return nil
	}
	wait := r.waitTime(ctx, key, cost, Take)
	if wait == 0 {
		r.allowed.Inc()
	}
	return r.refuse(wait)
}

// Check returns the error that Take of one token would return, and takes no token.
func (r *Rule) Check(ctx context.Context, key Key) error {
	if r == nil {
		return nil
	}
	return r.refuse(r.waitTime(ctx, key, 1, Check))
}

// Charge takes cost tokens even if they are missing. Missing tokens become a debt of at
// most a full bucket. It counts an action that has succeeded after a Check.
func (r *Rule) Charge(ctx context.Context, key Key, cost int) {
	if r != nil && cost > 0 {
		r.waitTime(ctx, key, cost, Charge)
	}
}

// checkLocal is Check without a call of the shared store.
func (r *Rule) checkLocal(key Key) error {
	if r == nil {
		return nil
	}
	return r.refuse(r.buckets.apply(key, 1, 1, Check))
}

// tokenWait returns how long a key must wait for its next token; 0 means that it has one.
// In dry run it returns 0 and counts that the rule would refuse.
func (r *Rule) tokenWait(ctx context.Context, key Key) time.Duration {
	if r == nil {
		return 0
	}
	wait := r.waitTime(ctx, key, 1, Check)
	if wait > 0 && r.dryRun {
		r.wouldRefuse.Inc()
		return 0
	}
	return wait
}

// refuse returns nil if wait is 0. Otherwise it counts a refusal and returns the error for
// the client, nil in dry run. wait is its retry time.
func (r *Rule) refuse(wait time.Duration) error {
	if wait == 0 || !r.Refuse() {
		return nil
	}
	ms := (wait + time.Millisecond - 1).Milliseconds()
	return protocol.RetryAfter(protocol.CodeRateLimited, ms, "too many %s: at most %s; try again in %d s",
		r.config.Subject, r.config.rateText(), (ms+999)/1000)
}

// waitTime applies a demand for cost tokens; a cost above the burst means the whole bucket.
// It returns 0, or how long until the tokens are available. A cluster-wide rule uses this
// node's bucket first and then the shared one. This node's bucket follows the shared one.
// It never has fewer tokens, so a flood of requests to one node does not reach the store.
func (r *Rule) waitTime(ctx context.Context, key Key, cost int, mode Mode) time.Duration {
	burst := r.config.Burst
	if key.burst > 0 {
		burst = min(burst, max(key.burst, r.config.Limit))
	}
	cost = min(cost, burst)
	required := cost + r.config.Burst - burst // in a bucket with the rule's own burst
	if r.store == nil {
		return r.buckets.apply(key, cost, required, mode)
	}
	if wait := r.buckets.apply(key, cost, required, Check); wait > 0 && mode != Charge {
		return wait
	}
	var wait time.Duration
	err := r.callStore(ctx, func(ctx context.Context, store Store) (err error) {
		wait, err = store.Take(ctx, SharedDemand{
			Rule: r.config.Name, Key: key.String(), Cost: cost, Burst: burst, Interval: r.config.tokenInterval(), Mode: mode,
		})
		return err
	})
	if err != nil {
		return r.buckets.apply(key, cost, required, mode)
	}
	if mode == Charge || mode == Take && wait == 0 {
		r.buckets.apply(key, cost, required, Charge)
	}
	if mode == Charge {
		required = 1 // the store returns the wait for the next token
	}
	if wait > 0 {
		r.buckets.follow(key, required, wait)
	}
	return wait
}

// callStore calls the shared store of a cluster-wide rule, and counts a failure. Without a
// store it does nothing and returns nil.
func (r *Rule) callStore(ctx context.Context, call func(ctx context.Context, store Store) error) error {
	if r.store == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := call(ctx, r.store)
	if err != nil {
		r.storeErrors.Inc()
	}
	return err
}
