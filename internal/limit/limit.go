package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RuleConfig is what a rule allows: Limit actions per Per, of which Burst at once after
// a pause. Burst 0 means Limit. Limit 0 means no limit.
type RuleConfig struct {
	Name        string // in metrics and in the list of dry runs
	Subject     string // that there may be too many of, as clients read it: "players from this address"
	Limit       int
	Per         time.Duration
	Burst       int
	ClusterWide bool // over all nodes
}

// Store keeps the buckets that all nodes share. Its clock is the cluster's.
type Store interface {
	// Take returns 0, or how long to wait for the tokens. For a Charge it returns how
	// long until the next token. A call that is repeated after a lost reply may charge
	// twice.
	Take(ctx context.Context, d Demand) (wait time.Duration, err error)

	// Reserve takes one token that may be returned. It returns how long to wait,
	// RetrySoon if all tokens are reserved. FinishReservation spends or returns the
	// token. A reservation that is never finished counts as spent after some seconds.
	// Both ignore Mode and Cost of the demand.
	Reserve(ctx context.Context, d Demand) (wait time.Duration, err error)
	FinishReservation(ctx context.Context, d Demand, spent bool) error

	// AddSecret adds a secret that is right for a rule's key. ListSecrets returns the
	// newest MaxSecrets, as long as one was used in the last day.
	AddSecret(ctx context.Context, rule, key, secret string) error
	ListSecrets(ctx context.Context, rule, key string) ([]string, error)
}

// Demand is a demand of a shared bucket: Cost tokens of at most Burst. A token comes
// back every Interval.
type Demand struct {
	Rule, Key   string
	Cost, Burst int
	Interval    time.Duration
	Mode        Mode
}

// Mode is what happens to the tokens.
type Mode string

// The modes.
const (
	Take   Mode = "take"   // taken if all are there
	Check  Mode = "check"  // not taken
	Charge Mode = "charge" // taken, with a debt of at most Burst if some are missing
)

// Config configures a limiter.
type Config struct {
	Store    Store                  // nil: cluster-wide rules count at each node alone, as they do while the store fails
	DryRun   func(rule string) bool // whether a rule counts refusals without making them; nil: none does
	MaxKeys  int                    // maximum per rule at this node; 0: 65,536
	Registry prometheus.Registerer  // nil: no metrics
}

// Limiter makes rules, which share their metrics.
type Limiter struct {
	config  Config
	metrics *metrics
}

const (
	defaultKeys = 1 << 16
	// storeTimeout bounds the wait for the store. After it the node decides alone.
	storeTimeout = 250 * time.Millisecond
)

// New makes a limiter.
func New(c Config) *Limiter {
	if c.DryRun == nil {
		c.DryRun = func(string) bool { return false }
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = defaultKeys
	}
	return &Limiter{config: c, metrics: newMetrics(c.Registry)}
}

// Rule makes a rule; nil if the config has no limit, which allows all. It panics if
// another rule has the name.
func (l *Limiter) Rule(c RuleConfig) *Rule {
	if c.Limit <= 0 {
		return nil
	}
	if c.Burst == 0 {
		c.Burst = c.Limit
	}
	r := &Rule{config: c, dryRun: l.config.DryRun(c.Name), counters: l.metrics.countersOf(c.Name)}
	if c.ClusterWide {
		r.store = l.config.Store
	}
	r.buckets = newBuckets(l.config.MaxKeys, r.idleAfter(), r.counters.evicted.Add)
	l.metrics.addKeyGauge(c.Name, r.buckets)
	return r
}

// rateText returns the rate for people, such as "60 a minute".
func (c RuleConfig) rateText() string {
	names := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", 24 * time.Hour: "a day"}
	per, ok := names[c.Per]
	if !ok {
		per = "in " + c.Per.String()
	}
	return fmt.Sprintf("%d %s", c.Limit, per)
}
