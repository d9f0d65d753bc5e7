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

// limitConnections wraps the players' listener. It accepts more connections than the maximum
// of websockets: HTTP needs some, and a refused client must get an answer.
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

// sessionLimits returns the limits of websockets. HTTP and websockets share the limit of code
// attempts.
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
			Burst: (c.HellosPerMinute + 29) / 30, // the hellos of 2 s
		}),
		Replays: n.limiter.Rule(limit.RuleConfig{
			Name: longReplays, Subject: "KiB of long replays for this address", Limit: replayKiB, Per: time.Second, Burst: replaySeconds * replayKiB,
		}),
		EarlyForfeits: n.earlyForfeitLimits(), Matches: n.matchesPerDayLimits(),
	}
}

// The rule of long replays has no configuration key. A class whose members all resume a match
// at once gets the replays within seconds.
const (
	longReplays   = "long_replay_kib_per_second_per_address"
	replayKiB     = 4096
	replaySeconds = 16 // a burst may use the quota of this many seconds
)

// loadShedding is the rule of limits.dry_run for all refusals of an overloaded node.
const loadShedding = "load_shedding"

// newShedder returns the load shedder of the node. Its signals are the memory, the scheduler
// lag and the requests in flight.
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

// duelLagDivisor divides max_scheduler_lag_ms. At the resulting lag the node accepts no more
// duels than it plays. Duels are many and short, so they stop long before other work.
const duelLagDivisor = 64

// minDuelLag is the smallest limit of that lag. A shorter lag says nothing about the load.
const minDuelLag = 2 * time.Millisecond

// assumedCPUUsage is the CPU usage to assume if it is unknown. It allows more duels, but only
// a few at once.
const assumedCPUUsage = 0.7

// newDuelLimit returns the limit of players in duels.
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

// untrustedPeers holds the first peers with forwarding headers that are not trusted.
type untrustedPeers struct {
	mu    sync.Mutex
	named []netip.Addr
}

// addNew reports whether the log must name the peer. It does so once per peer, and for at most
// maxLoggedPeers peers.
func (d *untrustedPeers) addNew(peer netip.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.named) == maxLoggedPeers || slices.Contains(d.named, peer) {
		return false
	}
	d.named = append(d.named, peer)
	return true
}
