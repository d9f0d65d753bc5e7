package overload

import (
	"cmp"
	"context"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

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

// LimiterConfig configures a limiter.
type LimiterConfig struct {
	Store    Store                  // nil: each node counts alone, also for cluster-wide rules
	IsDryRun func(rule string) bool // whether a rule counts refusals without making them; nil: no rule does
	MaxKeys  int                    // maximum per rule at this node; 0: 65,536
	Registry prometheus.Registerer  // nil: no metrics
}

// Limiter creates rules and caps. It is not safe for concurrent use; the rules are.
type Limiter struct {
	config  LimiterConfig
	secrets *knownSecrets
}

const (
	defaultMaxKeys = 1 << 16
	// storeTimeout is how long a call waits for the store. After it the node decides alone.
	storeTimeout = 250 * time.Millisecond
)

// NewLimiter returns a limiter.
func NewLimiter(config LimiterConfig) *Limiter {
	if config.IsDryRun == nil {
		config.IsDryRun = func(string) bool { return false }
	}
	config.MaxKeys = cmp.Or(config.MaxKeys, defaultMaxKeys)
	secrets, err := lru.New[knownSecret, time.Time](config.MaxKeys)
	if err != nil {
		panic(err) // MaxKeys is negative: a fault of the caller
	}
	return &Limiter{config, secrets}
}

// NewRule returns a rule. If the config has no limit it returns nil, which allows all. It
// panics if another rule has the same name.
func (l *Limiter) NewRule(config RuleConfig) *Rule {
	if config.Limit <= 0 {
		return nil
	}
	config.Burst = cmp.Or(config.Burst, config.Limit)
	rule := &Rule{
		Cap: l.NewCap(config.Name), config: config, secrets: l.secrets,
		allowed:     l.newCounter(config.Name, "passes_total", "Requests that a limit let through."),
		storeErrors: l.newCounter(config.Name, "store_errors_total", "Decisions of a cluster-wide limit that this node made alone because the shared store did not answer."),
	}
	evicted := l.newCounter(config.Name, "evicted_keys_total", "Keys that this node evicted before their bucket was full again because there were too many keys.")
	rule.buckets = newBucketTable(l.config.MaxKeys, config.refillTime(), evicted.Inc)
	promauto.With(l.config.Registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_limit_keys", Help: "Addresses, players and other keys that a limit remembers at this node.",
		ConstLabels: prometheus.Labels{"rule": config.Name},
	}, func() float64 { return float64(rule.buckets.len()) })
	if config.ClusterWide {
		rule.store = l.config.Store
	}
	return rule
}

// refillTime returns the time after which any unused bucket is full, even one with the
// largest debt.
func (c RuleConfig) refillTime() time.Duration {
	refill := float64(c.Burst) / float64(c.Limit) * float64(c.Per)
	return 2 * max(time.Duration(refill), c.Per)
}

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
