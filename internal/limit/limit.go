// Package limit says how often something may be done: each rule gives every key
// of its own, an address or a player, a bucket of tokens (golang.org/x/time/rate)
// at this node, and where it is to hold over all nodes one that they share.
//
// A refusal is counted by its rule and says when to try again. A rule that is on
// trial counts what it would refuse and refuses nothing.
package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Terms are what a rule allows: Most in each Per, of which Burst at once after
// a rest; Burst 0 is Most. Most 0 is no limit.
type Terms struct {
	Name  string // in metrics and among what is on trial
	What  string // that there may be too many of, as clients read it: "players from this address"
	Most  int
	Per   time.Duration
	Burst int
	Wide  bool // over all nodes
}

// Shared keeps the buckets that all nodes have in common. Its time is theirs.
type Shared interface {
	// Take says how long one has to wait, 0 where what is asked for is there; of a
	// Charge, how long until the next token is there. Called again for a lost reply it may charge twice.
	Take(ctx context.Context, d Demand) (wait time.Duration, err error)

	// Hold takes one token that may be given back, and says how long one has to
	// wait; Soon where all are held. Settle ends that: the token is spent, or given
	// back. One that is never settled is spent after seconds. Mode and Cost of the
	// demand do not count.
	Hold(ctx context.Context, d Demand) (wait time.Duration, err error)
	Settle(ctx context.Context, d Demand, spent bool) error

	// Vouch remembers for a rule's key that a secret is right, and Vouched gives
	// those, the newest MostVouched, as long as there are any of the last day.
	Vouch(ctx context.Context, rule, key, secret string) error
	Vouched(ctx context.Context, rule, key string) ([]string, error)
}

// Demand is what is asked of a shared bucket: Cost of its Burst tokens, of which
// one comes back in every Interval.
type Demand struct {
	Rule, Key   string
	Cost, Burst int
	Interval    time.Duration
	Mode        Mode
}

// Mode is what becomes of the tokens.
type Mode string

// The modes.
const (
	Take   Mode = "take"   // they are taken if all are there
	Ask    Mode = "ask"    // they are left
	Charge Mode = "charge" // they are taken, at worst owed: up to Burst, more is remitted
)

// Config is what a limiter is made of.
type Config struct {
	Shared   Shared                 // nil: wide rules hold for this node only, as they do while it fails
	Trial    func(rule string) bool // whether a rule refuses nothing; nil: none is on trial
	Keys     int                    // at the most of each rule at this node; 0: 65,536
	Registry prometheus.Registerer  // nil for none
}

// Limiter makes rules, which share their metrics.
type Limiter struct {
	config  Config
	metrics *metrics
}

const (
	defaultKeys = 1 << 16
	// sharedWithin bounds the wait for a shared bucket, beyond which the node's
	// own decides.
	sharedWithin = 250 * time.Millisecond
)

// New makes a limiter.
func New(c Config) *Limiter {
	if c.Trial == nil {
		c.Trial = func(string) bool { return false }
	}
	if c.Keys == 0 {
		c.Keys = defaultKeys
	}
	return &Limiter{config: c, metrics: newMetrics(c.Registry)}
}

// Rule makes a rule, nil where its terms set no limit: that one allows all. It
// panics over a name that another rule of the registry has.
func (l *Limiter) Rule(t Terms) *Rule {
	if t.Most <= 0 {
		return nil
	}
	if t.Burst == 0 {
		t.Burst = t.Most
	}
	r := &Rule{terms: t, trial: l.config.Trial(t.Name), told: l.metrics.of(t.Name)}
	if t.Wide {
		r.shared = l.config.Shared
	}
	r.buckets = newBuckets(l.config.Keys, r.refilled(), r.told.forgotten.Add)
	l.metrics.show(t.Name, r.buckets)
	return r
}

// often says how often, for people.
func (t Terms) often() string {
	names := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", 24 * time.Hour: "a day"}
	per, ok := names[t.Per]
	if !ok {
		per = "in " + t.Per.String()
	}
	return fmt.Sprintf("%d %s", t.Most, per)
}
