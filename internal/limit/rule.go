package limit

import (
	"context"
	"math"
	"time"

	"laststand/internal/protocol"
)

// Rule limits how often something is done for each key. A nil one allows all.
// It is safe for concurrent use.
//
// At this node it remembers so many keys at the most; one that is forgotten
// has a full bucket again. Those that have been idle until theirs was full are
// forgotten first, the others only when there are more keys than that, which is
// counted. What the nodes share forgets nobody.
type Rule struct {
	terms   Terms
	trial   bool
	shared  Shared // nil where the node's own bucket is all
	buckets *buckets
	told    told
}

// Take takes cost tokens of a key, or refuses with a *protocol.Error of the code
// rate_limited, which says when they will be there. A cost beyond the bucket is
// the whole bucket.
func (r *Rule) Take(ctx context.Context, k Key, cost int) error {
	return r.decide(ctx, k, cost, Take)
}

// Ask refuses as Take of one token would, and takes nothing.
func (r *Rule) Ask(ctx context.Context, k Key) error {
	return r.decide(ctx, k, 1, Ask)
}

// Charge takes cost tokens also where they are not there: those are owed, as
// many as the bucket holds at the most. It is for what is known to count only
// once it is done, after Ask.
func (r *Rule) Charge(ctx context.Context, k Key, cost int) {
	if r != nil && cost > 0 {
		r.wait(ctx, k, cost, Charge)
	}
}

// has says whether a key has a token, without counting.
func (r *Rule) has(ctx context.Context, k Key) bool {
	return r == nil || r.trial || r.wait(ctx, k, 1, Ask) <= 0
}

// Spend takes a token of a key, if there is one: of what is refused in any case, and
// is to be owed by nobody.
func (r *Rule) Spend(ctx context.Context, k Key) {
	if r != nil {
		r.wait(ctx, k, 1, Take)
	}
}

// recall is Ask of this node alone, by what it knows.
func (r *Rule) recall(k Key) error {
	if r == nil {
		return nil
	}
	now := time.Now()
	return r.rule(r.bucket(now, k).shut(now, 1), Ask)
}

// used is how many tokens of a key this node has taken that are not back yet.
func (r *Rule) used(k Key) int {
	now := time.Now()
	return int(math.Ceil(float64(r.terms.Burst) - r.bucket(now, k).tokens.TokensAt(now)))
}

func (r *Rule) decide(ctx context.Context, k Key, cost int, mode Mode) error {
	if r == nil || cost <= 0 {
		return nil
	}
	return r.rule(r.wait(ctx, k, cost, mode), mode)
}

// rule turns a wait into what it means, and counts it.
func (r *Rule) rule(wait time.Duration, mode Mode) error {
	switch {
	case wait <= 0:
		if mode == Take {
			r.told.allowed.Inc()
		}
		return nil
	case r.trial:
		r.told.wouldRefuse.Inc()
		return nil
	}
	return r.refuse(wait)
}

// refuse counts a refusal and makes its error.
func (r *Rule) refuse(wait time.Duration) error {
	r.told.refused.Inc()
	ms := (wait + time.Millisecond - 1).Milliseconds()
	return protocol.RetryAfter(protocol.CodeRateLimited, ms, "too many %s: at most %s; try again in %d s",
		r.terms.What, r.terms.often(), (ms+999)/1000)
}

// wait is how long until the tokens are there, 0 where they are. What the nodes
// share decides where there is such a thing, after the node's own bucket: what
// this node alone has let through is a part of what all have, so that a flood
// at one node is none at the shared store.
func (r *Rule) wait(ctx context.Context, k Key, cost int, mode Mode) time.Duration {
	d, now := r.demandOf(k, cost, mode), time.Now()
	b, a := r.bucket(now, k), r.amountOf(d)
	if r.shared == nil {
		return b.demand(now, a, mode)
	}
	if wait := b.shut(now, a.needed); wait > 0 && mode != Charge {
		return wait
	}
	ctx, cancel := context.WithTimeout(ctx, sharedWithin)
	defer cancel()
	wait, err := r.shared.Take(ctx, d)
	if err != nil {
		r.told.alone.Inc()
		return b.demand(time.Now(), a, mode)
	}
	b.heed(time.Now(), a, wait, mode)
	return wait
}

// amountOf is what a demand asks of the node's own bucket, which has the rule's
// burst: with a smaller one, as many tokens more have to be there.
func (r *Rule) amountOf(d Demand) amount {
	return amount{d.Cost, d.Cost + r.terms.Burst - d.Burst}
}

// bucket is a key's at this node.
func (r *Rule) bucket(now time.Time, k Key) *bucket {
	k.burst = 0
	return r.buckets.of(now, k, func() *bucket { return newBucket(r.terms.Most, r.terms.Burst, r.terms.Per) })
}

// demandOf is what is asked for a key; a cost beyond the bucket is the whole
// bucket.
func (r *Rule) demandOf(k Key, cost int, mode Mode) Demand {
	burst := r.terms.Burst
	if k.burst > 0 {
		burst = min(burst, max(k.burst, r.terms.Most))
	}
	return Demand{
		Rule: r.terms.Name, Key: k.String(), Cost: min(cost, burst), Burst: burst, Interval: interval(r.terms.Most, r.terms.Per), Mode: mode,
	}
}

// interval is the time of a token, in whole microseconds.
func interval(most int, per time.Duration) time.Duration {
	return max((per / time.Duration(most)).Truncate(time.Microsecond), time.Microsecond)
}

// refilled is after what time any bucket is full, also one that owed its all.
func (r *Rule) refilled() time.Duration {
	full := float64(r.terms.Burst) / float64(r.terms.Most) * float64(r.terms.Per)
	return 2 * max(time.Duration(full), r.terms.Per)
}
