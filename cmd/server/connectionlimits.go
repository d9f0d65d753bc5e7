package main

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/limit"
	"laststand/internal/loadshed"
	"laststand/internal/proxies"
	"laststand/internal/ws"
)

// limitConnections wraps the listener for players so that it limits connections, in total and per
// address. Both limits are higher than those of websockets: HTTP requests need connections too,
// and the node must be able to answer a client whose websocket it refuses.
func (n *node) limitConnections(l net.Listener) net.Listener {
	c := n.config.Limits
	rules := make(map[string]*limit.Cap)
	for _, rule := range proxies.Rules() {
		rules[rule] = n.limiter.Cap(rule)
	}
	maxPerAddress := int64(0)
	if c.ConnectionsPerAddress > 0 {
		maxPerAddress = 2*c.ConnectionsPerAddress + 64
	}
	d := proxies.New(l, proxies.Config{
		Trusted: n.proxies, Protocol: proxies.Protocol(n.config.ProxyProtocol),
		Most: maxConnections(c.Connections), MostEach: maxPerAddress,
		Refuse: func(rule string) bool { return rules[rule].Refuse() },
	})
	promauto.With(n.registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_connections", Help: "Connections to --listen, websockets and others.",
	}, func() float64 { return float64(d.Open()) })
	return d
}

// sessionLimits returns the limits of websockets. codes is the limit of arena code attempts, which
// HTTP and websockets share.
func (n *node) sessionLimits(codes *limit.FailureLimiter) ws.Limits {
	c := n.config.Limits
	return ws.Limits{
		PerAddress: c.ConnectionsPerAddress, CodeAttempts: codes,
		TotalCap: n.limiter.Cap("websockets"), AddressCap: n.limiter.Cap("websockets_per_address"),
		PendingHelloCap: n.limiter.Cap("unauthenticated_websockets"), IdleCap: n.limiter.Cap("idle_websockets"), MessageCap: n.limiter.Cap("messages_per_second"),
		Hellos: n.limiter.Rule(limit.RuleConfig{
			Name: "hellos_per_minute_per_address", Subject: "hellos from this address", Limit: c.HellosPerMinutePerAddress, Per: time.Minute,
		}),
		HellosInAll: n.limiter.Rule(limit.RuleConfig{
			Name: "hellos_per_minute", Subject: "hellos at this node", Limit: c.HellosPerMinute, Per: time.Minute,
			Burst: (c.HellosPerMinute + 29) / 30, // the number of hellos in 2 s
		}),
		Replays: n.limiter.Rule(limit.RuleConfig{
			Name: longReplays, Subject: "KiB of long replays for this address", Limit: replayKiB, Per: time.Second, Burst: replaySeconds * replayKiB,
		}),
		EarlyForfeits: n.earlyForfeitLimits(), Matches: n.matchesPerDayLimits(),
	}
}

// The rule of long replays has no configuration key. If all players of a class resume a match at
// the same time, they get their replays within seconds.
const (
	longReplays   = "long_replay_kib_per_second_per_address"
	replayKiB     = 4096
	replaySeconds = 16 // a burst may use the quota of this many seconds
)

// loadSheddingRule is the name in limits.dry_run for all refusals of an overloaded node.
const loadShedding = "load_shedding"

// newShedder returns the load shedder of the node. Its signals are memory, scheduler lag and the
// number of HTTP requests in progress.
func (n *node) newShedder() *loadshed.Shedder {
	c := n.config.Limits
	var signals []loadshed.Signal
	if bytes := memoryLimit(c.MaxMemoryMiB); bytes > 0 {
		signals = append(signals, loadshed.MemorySignal(bytes))
	}
	if c.MaxSchedulerLagMS > 0 {
		signals = append(signals, loadshed.LagSignal(time.Duration(c.MaxSchedulerLagMS)*time.Millisecond))
	}
	return loadshed.New(loadshed.Config{
		Signals: signals, MaxRequests: c.MaxConcurrentRequests, Registry: n.registry, DryRun: c.DryRun.includes(loadShedding),
		CloseIdle: func() int { return n.sessions.CloseIdle() },
	})
}

// duelLagDivisor divides max_scheduler_lag_ms. From the resulting lag on, the node does not
// increase its number of duels. Duels are many and short, so this limit comes long before the
// limits on other work.
const duelLagDivisor = 64

// minDuelLag is the minimum of the lag that duelLagDivisor results in. A shorter lag does not
// depend on the load.
const minDuelLag = 2 * time.Millisecond

// assumedCPUUsage is the CPU usage, from 0 to 1, to assume if it is unknown. With it the node adds
// duels, but only a few at a time.
const assumedCPUUsage = 0.7

// newDuelLimit returns the limit on players in duels at this node.
func (n *node) newDuelLimit() *loadshed.DuelLimit {
	maxLag := time.Duration(n.config.Limits.MaxSchedulerLagMS) * time.Millisecond / duelLagDivisor
	if maxLag > 0 {
		maxLag = max(maxLag, minDuelLag)
	}
	return loadshed.NewDuelLimit(n.shedder, maxLag, newCPUUsage().sample)
}

func newUntrustedCounter(r prometheus.Registerer) prometheus.Counter {
	return promauto.With(r).NewCounter(prometheus.CounterOpts{
		Name: "laststand_untrusted_forwarded_headers_total", Help: "Requests with X-Forwarded-For from a peer that is not a trusted proxy; the server ignores the header.",
	})
}

// loggedPeers is the set of untrusted peers with forwarding headers that the log has named. It is
// safe for concurrent use.
type untrustedPeers struct {
	mu    sync.Mutex
	named []netip.Addr
}

// addIfNew adds a peer and returns true, so that the caller logs it. It returns false for a peer
// that it has, and for all others once it has maxLoggedPeers.
func (d *untrustedPeers) addNew(peer netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.named) == maxLoggedPeers || slices.Contains(d.named, peer) {
		return false
	}
	d.named = append(d.named, peer)
	return true
}
