package overload

import (
	"context"
	"fmt"
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

// RuleConfig configures a rule: it allows Limit actions per Per. After a pause it allows
// Burst actions at the same time; Burst 0 means Limit. Limit 0 means no limit.
type RuleConfig struct {
	Name        string // in metrics and in the list of dry runs
	Subject     string // what the rule limits, for error texts after "too many": "players from this address"
	Limit       int
	Per         time.Duration
	Burst       int
	ClusterWide bool // all nodes share the buckets
}

// Store stores the buckets that all nodes share. It uses the cluster's time.
type Store interface {
	// Take applies a demand. It returns 0, or how long until the tokens are available. For
	// the mode Charge it returns how long until the next token is available. If a reply is
	// lost and the call is repeated, it may take the tokens twice.
	Take(ctx context.Context, demand SharedDemand) (wait time.Duration, err error)

	// AddSecret stores for a day that a secret is right for a key of a rule. HasSecret
	// returns true if it is stored.
	AddSecret(ctx context.Context, rule, key, secret string) error
	HasSecret(ctx context.Context, rule, key, secret string) (bool, error)
}

// SharedDemand is a demand for Cost tokens of a bucket that all nodes share. The bucket has
// at most Burst tokens and gets a new one each Interval.
type SharedDemand struct {
	Rule, Key   string
	Cost, Burst int
	Interval    time.Duration
	Mode        Mode
}

// Mode says what a demand does with the tokens.
type Mode string

// The modes.
const (
	Take   Mode = "take"   // takes the tokens if all of them are available
	Check  Mode = "check"  // takes none
	Charge Mode = "charge" // takes the tokens; missing ones become a debt of at most Burst
)

// storeTimeout is how long a call waits for the store. After it the node decides alone.
const storeTimeout = 250 * time.Millisecond

// tokenInterval returns the time in which a bucket gets one token, in whole microseconds.
func (c RuleConfig) tokenInterval() time.Duration {
	return max((c.Per / time.Duration(c.Limit)).Truncate(time.Microsecond), time.Microsecond)
}

// rateText returns the rate as people read it, such as "60 a minute".
func (c RuleConfig) rateText() string {
	names := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", 24 * time.Hour: "a day"}
	per, ok := names[c.Per]
	if !ok {
		per = "in " + c.Per.String()
	}
	return fmt.Sprintf("%d %s", c.Limit, per)
}

// ActionLimit limits actions that count only when they have succeeded, such as joining a
// match. Check uses only the buckets at this node, so that it needs no call of the shared
// store. CountAction also updates the shared buckets. From its result the node learns the
// actions at other nodes. A nil *ActionLimit allows all. It is safe for concurrent use.
type ActionLimit struct {
	PerPlayer  *Rule // nil: no limit
	PerAddress *Rule // nil: no limit

	// AddressGrace exempts players with few actions from PerAddress: a player who has used
	// at most so many tokens of PerPlayer is checked by PerPlayer only. So one busy player
	// does not lock out a school behind the same address.
	AddressGrace int
}

// Check returns a *protocol.Error of code rate_limited if the player or the address has no
// token. It takes no token.
func (l *ActionLimit) Check(player, address Key) error {
	if l == nil {
		return nil
	}
	if err := l.PerPlayer.checkLocal(player); err != nil {
		return err
	}
	if l.PerPlayer != nil && l.PerPlayer.buckets.usedTokens(player) <= l.AddressGrace {
		return nil
	}
	return l.PerAddress.checkLocal(address)
}

// CountAction counts an action: it takes a token of the player and one of the address. A
// missing token becomes a debt of the bucket.
func (l *ActionLimit) CountAction(ctx context.Context, player, address Key) {
	if l == nil {
		return
	}
	l.PerPlayer.Charge(ctx, player, 1)
	l.PerAddress.Charge(ctx, address, 1)
}
