package limit

import (
	"context"
	"time"
)

// hold is a token that is not known to be spent yet.
type hold struct {
	rule   *Rule
	bucket *bucket
	demand Demand
	alone  bool // only this node's bucket knows of it
}

type holds []hold

// settle ends all of them: the tokens are spent, or given back. It outlives the
// context: who has gone meanwhile owes the token all the same.
func (all holds) settle(ctx context.Context, spent bool) {
	for _, h := range all {
		h.bucket.settle(time.Now(), spent)
		if h.alone {
			continue
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedWithin)
		if h.rule.shared.Settle(ctx, h.demand, spent) != nil {
			h.rule.told.alone.Inc() // it lapses there, as one that is spent
		}
		cancel()
	}
}

// The pauses of who waits for what is held double from the first to the last,
// together a second.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 512 * time.Millisecond
)

// hold holds a token of a key, or says how long until there is one. Where others
// hold what there is it waits for them, or until none is needed. What a rule on
// trial would refuse holds nothing.
func (r *Rule) hold(ctx context.Context, k Key, needless func() bool) (holds, time.Duration) {
	h, wait := r.holdOnce(ctx, k)
	for pause := firstPause; wait == Soon; pause *= 2 {
		if pause > lastPause || !rest(ctx, pause) {
			wait = time.Second
			break
		}
		if needless() {
			return nil, 0
		}
		h, wait = r.holdOnce(ctx, k)
	}
	switch {
	case wait == 0:
		return holds{h}, 0
	case r.trial:
		r.told.wouldRefuse.Inc()
		return nil, 0
	}
	return nil, wait
}

// rest waits, and says whether there is time for more.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// holdOnce asks this node's bucket, and then the one that the nodes share.
func (r *Rule) holdOnce(ctx context.Context, k Key) (h hold, wait time.Duration) {
	now := time.Now()
	h = hold{r, r.bucket(now, k), r.demandOf(k, 1, ""), r.shared == nil}
	if wait = h.bucket.hold(now); wait != 0 || h.alone {
		return h, wait
	}
	ctx, cancel := context.WithTimeout(ctx, sharedWithin)
	defer cancel()
	wait, err := r.shared.Hold(ctx, h.demand)
	switch {
	case err != nil:
		r.told.alone.Inc()
		h.alone = true
		return h, 0
	case wait > Soon:
		h.bucket.heed(time.Now(), amount{1, 1}, wait, Ask)
	}
	if wait != 0 {
		h.bucket.settle(time.Now(), false)
	}
	return h, wait
}

// vouch remembers here, and for all nodes, that a secret is right.
func (r *Rule) vouch(ctx context.Context, of Guess) {
	b := r.bucket(time.Now(), of.From)
	if !b.vouch(time.Now(), of.Secret) || r.shared == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedWithin)
	defer cancel()
	if r.shared.Vouch(ctx, r.terms.Name, of.From.String(), of.Secret) != nil {
		r.told.alone.Inc()
		b.retell(time.Now(), of.Secret)
	}
}

// vouches says whether a secret is known to be right here.
func (r *Rule) vouches(of Guess) bool {
	return r.bucket(time.Now(), of.From).vouches(of.Secret)
}

// hearsEvery is how often a node asks what is vouched for at the others, of each
// key that is refused.
const hearsEvery = time.Second

// hears says whether a secret is known to be right at any node.
func (r *Rule) hears(ctx context.Context, of Guess) bool {
	b := r.bucket(time.Now(), of.From)
	if r.shared != nil && b.asks(time.Now()) {
		ctx, cancel := context.WithTimeout(ctx, sharedWithin)
		defer cancel()
		secrets, err := r.shared.Vouched(ctx, r.terms.Name, of.From.String())
		if err != nil {
			r.told.alone.Inc()
		}
		for _, s := range secrets {
			b.vouch(time.Now(), s)
		}
	}
	return b.vouches(of.Secret)
}
