package main

import (
	"net"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/config"
	"laststand/internal/httpserver"
	"laststand/internal/overload"
	"laststand/internal/redisstore"
	"laststand/internal/redisx"
	"laststand/internal/ws"
)

// newLimits returns the limits of the node. A node with an embedded Redis is the only node, so
// they need no shared store.
func (n *node) newLimits() *limits {
	c := overload.LimiterConfig{IsDryRun: n.config.Limits.DryRun.Includes, Registry: n.registry}
	if n.redis.Kind != redisx.KindEmbedded {
		c.Store = redisstore.NewLimits(n.redis.Pipelined, n.now)
	}
	return &limits{overload.NewLimiter(c), &n.config}
}

// maxConnections returns the maximum number of connections of all kinds to --listen, for a
// maximum number of websockets.
func maxConnections(websockets int64) int64 { return websockets + websockets/10 + 1000 }

// limitConnections wraps the listener for players so that it limits connections, in total and per
// address. Both limits are higher than those of websockets: HTTP requests need connections too,
// and the node must be able to answer a client whose websocket it refuses.
func (n *node) limitConnections(l net.Listener) net.Listener {
	limits := n.config.Limits
	rules := make(map[string]*overload.Cap)
	for _, rule := range httpserver.ConnectionRules() {
		rules[rule] = n.limits.NewCap(rule)
	}
	maxPerAddress := int64(0)
	if limits.ConnectionsPerAddress > 0 {
		maxPerAddress = 2*limits.ConnectionsPerAddress + 64
	}
	limited := httpserver.NewListener(l, httpserver.ListenerConfig{
		Trusted: n.proxies, Protocol: httpserver.ProxyProtocol(n.config.ProxyProtocol),
		MaxConnections: maxConnections(limits.Connections), MaxPerAddress: maxPerAddress,
		HeaderTimeout: 5 * time.Second, OnRefusal: func(rule string) bool { return rules[rule].Refuse() },
	})
	promauto.With(n.registry).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "laststand_connections", Help: "Connections to --listen, websockets and others.",
	}, func() float64 { return float64(limited.OpenConnections()) })
	return limited
}

// sessionLimits returns the limits of websockets. codes is the limit of arena code attempts, which
// HTTP and websockets share.
func (l *limits) sessionLimits(codeAttempts *overload.FailureLimiter) ws.Limits {
	limits := l.config.Limits
	return ws.Limits{
		PerAddress: limits.ConnectionsPerAddress, CodeAttempts: codeAttempts,
		TotalCap: l.NewCap("websockets"), AddressCap: l.NewCap("websockets_per_address"),
		PendingHelloCap: l.NewCap("unauthenticated_websockets"), IdleCap: l.NewCap("idle_websockets"), MessageCap: l.NewCap("messages_per_second"),
		Hellos:           l.nodeRule("hellos_per_minute_per_address", "hellos from this address", limits.HellosPerMinutePerAddress, time.Minute, 0),
		HellosPerNode:    l.nodeRule("hellos_per_minute", "hellos at this node", limits.HellosPerMinute, time.Minute, (limits.HellosPerMinute+29)/30), // a burst is the hellos of 2 s
		ReplaysPerPlayer: l.nodeRule(config.RuleLongReplaysPerPlayer, "long replays of matches, send the seq of the last push seen", 1, 5*time.Second, 0),
		Replays:          l.nodeRule(config.RuleLongReplay, "KiB of long replays for this address", replayKiBPerSecond, time.Second, replayBurstSeconds*replayKiBPerSecond),
		EarlyForfeits:    l.earlyForfeitLimits(), Matches: l.matchesPerDayLimits(),
	}
}

// The rules of long replays have no configuration key. If all players of a class resume a match at
// the same time, they get their replays within seconds.
const (
	replayKiBPerSecond = 4096
	replayBurstSeconds = 16 // a burst may use the quota of this many seconds
)

// newShedder returns the load shedder of the node. Its signals are memory, scheduler lag and the
// number of HTTP requests in progress.
func (n *node) newShedder() *overload.Shedder {
	limits := n.config.Limits
	return overload.NewShedder(overload.ShedderConfig{
		MemoryLimit: config.MemoryLimit(limits.MaxMemoryMiB), MaxLag: time.Duration(limits.MaxSchedulerLagMS) * time.Millisecond, MaxRequests: limits.MaxConcurrentRequests,
		Registry: n.registry, DryRun: limits.DryRun.Includes(config.RuleLoadShedding),
		CloseIdle: func() int { return n.sessions.CloseIdle() },
		ReadBusy:  config.NewCPUUsage("/proc", os.DirFS("/sys/fs/cgroup")).Sample, CountDuelPlayers: func() int64 { return n.sessions.DuelPlayers() },
	})
}
