package limit

import (
	"context"
	"errors"
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

// Guess does what may be a guess of a secret, which is wrong where it ends with
// a *protocol.Error of the code not_found. Wrong ones are charged to the key,
// right ones never; who has no token left may not even try. Those that are under
// way at the same time are all tried.
func (r *Rule) Guess(ctx context.Context, k Key, try func() error) error {
	if err := r.Ask(ctx, k); err != nil {
		return err
	}
	err := try()
	if wrong, ok := errors.AsType[*protocol.Error](err); ok && wrong.Code == protocol.CodeNotFound {
		r.Charge(ctx, k, 1)
	}
	return err
}

func (r *Rule) decide(ctx context.Context, k Key, cost int, mode Mode) error {
	if r == nil || cost <= 0 {
		return nil
	}
	wait := r.wait(ctx, k, cost, mode)
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
	r.told.refused.Inc()
	ms := (wait + time.Millisecond - 1).Milliseconds()
	most, _ := r.size(k)
	return protocol.RetryAfter(protocol.CodeRateLimited, ms, "too many %s: at most %s; try again in %d s",
		r.terms.What, r.terms.often(most), (ms+999)/1000)
}

// wait is how long until the tokens are there, 0 where they are. What the nodes
// share decides where there is such a thing, after the node's own bucket: what
// this node alone has let through is a part of what all have, so that a flood
// at one node is none at the shared store.
func (r *Rule) wait(ctx context.Context, k Key, cost int, mode Mode) time.Duration {
	most, burst := r.size(k)
	cost = min(cost, burst)
	now := time.Now()
	b := r.buckets.of(now, k, func() *bucket { return newBucket(most, burst, r.terms.Per) })
	if r.shared == nil {
		return b.demand(now, cost, mode)
	}
	if wait := b.shut(now, cost); wait > 0 && mode != Charge {
		return wait
	}
	ctx, cancel := context.WithTimeout(ctx, sharedWithin)
	defer cancel()
	wait, err := r.shared.Take(ctx, Demand{
		Rule: r.terms.Name, Key: k.String(), Cost: cost, Burst: burst, Interval: interval(most, r.terms.Per), Mode: mode,
	})
	if err != nil {
		r.told.alone.Inc()
		return b.demand(time.Now(), cost, mode)
	}
	b.heed(time.Now(), cost, wait, mode)
	return wait
}

// size is how many tokens a key gets in Per, and how many it has at once.
func (r *Rule) size(k Key) (most, burst int) {
	if k.most > 0 {
		return k.most, k.most
	}
	return r.terms.Most, r.terms.Burst
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
