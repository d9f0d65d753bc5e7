package overload

import (
	"cmp"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

// LimiterConfig configures a limiter.
type LimiterConfig struct {
	Store    Store                  // nil: each node counts alone, also for cluster-wide rules, and no secret is known
	IsDryRun func(rule string) bool // whether a rule counts refusals without making them; nil: no rule does
	MaxKeys  int                    // maximum per rule at this node; 0: 65,536
	Registry prometheus.Registerer  // nil: no metrics
}

// Limiter creates rules and caps. It is not safe for concurrent use; the rules are.
type Limiter struct{ config LimiterConfig }

const defaultMaxKeys = 1 << 16

// NewLimiter returns a limiter.
func NewLimiter(config LimiterConfig) *Limiter {
	if config.IsDryRun == nil {
		config.IsDryRun = func(string) bool { return false }
	}
	config.MaxKeys = cmp.Or(config.MaxKeys, defaultMaxKeys)
	return &Limiter{config}
}

// NewRule returns a rule. If the config has no limit it returns nil, which allows all. It
// panics if another rule has the same name.
func (l *Limiter) NewRule(config RuleConfig) *Rule {
	if config.Limit <= 0 {
		return nil
	}
	config.Burst = cmp.Or(config.Burst, config.Limit)
	metrics := l.metricsOf(config.Name)
	rule := &Rule{
		Cap: l.NewCap(config.Name), config: config,
		allowed:     metrics.Counter("passes_total", "Requests that a limit let through."),
		storeErrors: metrics.Counter("store_errors_total", "Decisions of a cluster-wide limit that this node made alone because the shared store did not answer."),
	}
	evicted := metrics.Counter("evicted_keys_total", "Keys that this node evicted before their bucket was full again because there were too many keys.")
	rule.buckets = newBucketTable(l.config.MaxKeys, BucketConfig{config.Burst, config.tokenInterval()}, evicted.Inc)
	metrics.GaugeFunc("keys", "Addresses, players and other keys that a limit remembers at this node.", func() float64 { return float64(rule.buckets.len()) })
	if config.ClusterWide {
		rule.store = l.config.Store
	}
	return rule
}

// NewCap returns a Cap. Its name must differ from the names of all rules.
func (l *Limiter) NewCap(name string) *Cap {
	metrics := l.metricsOf(name)
	return &Cap{
		dryRun:      l.config.IsDryRun(name),
		refused:     metrics.Counter("refusals_total", "Requests that a limit refused."),
		wouldRefuse: metrics.Counter("dry_run_refusals_total", "Requests that a limit in dry run (limits.dry_run) would have refused."),
	}
}

// metricsOf returns the factory of the metrics of a rule.
func (l *Limiter) metricsOf(rule string) metric.Factory {
	return metric.For(l.config.Registry, "laststand_limit_").With(prometheus.Labels{"rule": rule})
}

// Cap counts the refusals of a limit that another type computes, such as a maximum of
// connections, and decides whether the limit is enforced. It is safe for concurrent use.
type Cap struct {
	dryRun               bool
	refused, wouldRefuse prometheus.Counter
}

// Refuse counts a refusal. It returns true if the caller must refuse, and false in dry
// run. A nil Cap returns true and counts nothing.
func (c *Cap) Refuse() bool {
	switch {
	case c == nil:
		return true
	case c.dryRun:
		c.wouldRefuse.Inc()
		return false
	}
	c.refused.Inc()
	return true
}

// Key identifies the address, player or other object whose actions a rule counts. Keys can
// be compared with ==.
type Key struct {
	address  netip.Addr
	game, id string
	burst    int // 0 means the rule's own burst
}

// hostBits is the number of low bits of an IPv6 address that one customer can choose.
const hostBits = 64

// Network returns the first address of the network of a client. For IPv6 that is a /64
// network, since one customer has all of it. An IPv4 address is its own network, also if it is
// mapped to IPv6. So is the zero Addr.
func Network(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if prefix, err := address.Prefix(hostBits); err == nil && address.Is6() {
		return prefix.Addr()
	}
	return address
}

// AddressKey returns the key of a client's address. All addresses of a Network have the same key.
func AddressKey(address netip.Addr) Key { return Key{address: Network(address)} }

// ObjectKey returns the key of a player or another object of a game, by its id.
func ObjectKey(game, id string) Key { return Key{game: game, id: id} }

// WithBurst returns the key with a smaller burst than the rule's. A burst below the rule's
// Limit counts as Limit. The burst applies only to the call with this key. All calls with
// the key, with any burst, share one bucket.
func (k Key) WithBurst(burst int) Key {
	k.burst = max(burst, 1) // 0 would be the rule's own burst
	return k
}

// String returns the key as text, unique among the keys of a rule.
func (k Key) String() string {
	switch {
	case k.id != "" || k.game != "":
		return k.game + "/" + k.id
	case k.address.Is6():
		return netip.PrefixFrom(k.address, hostBits).String()
	}
	return k.address.String()
}
