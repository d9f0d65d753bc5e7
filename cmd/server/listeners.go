package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"laststand/internal/config"
	"laststand/internal/httpserver"
	"laststand/internal/metric"
	"laststand/internal/overload"
	"laststand/internal/redisstore"
	"laststand/internal/ws"
)

// newLimits returns the limits of the node.
func (n *node) newLimits() *limits {
	return &limits{overload.NewLimiter(overload.LimiterConfig{
		Store: redisstore.NewLimits(n.redis.Pipelined, n.now), IsDryRun: n.config.Limits.DryRun.Includes, Registry: n.registry,
	}), &n.config}
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
	metric.For(n.registry, "laststand_").GaugeFunc("connections", "Connections to --listen, websockets and others.", func() float64 { return float64(limited.OpenConnections()) })
	return limited
}

// sessionLimits returns the limits of websockets. codes is the limit of arena code attempts, which
// HTTP and websockets share.
func (l *limits) sessionLimits(codeAttempts *overload.FailureLimiter) ws.Limits {
	limits := l.config.Limits
	return ws.Limits{
		PlacesConfig: overload.PlacesConfig{
			PerAddress: limits.ConnectionsPerAddress, TotalCap: l.NewCap("websockets"), AddressCap: l.NewCap("websockets_per_address"), PendingCap: l.NewCap("unauthenticated_websockets"),
		},
		CodeAttempts: codeAttempts, IdleCap: l.NewCap("idle_websockets"), MessageCap: l.NewCap("messages_per_second"),
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

func openCertificate(c *config.Config, registry prometheus.Registerer, log *slog.Logger) (*httpserver.Certificate, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	cert, key := c.CertificateFiles()
	certificate, err := httpserver.OpenCertificate(httpserver.CertificateConfig{Cert: cert, Key: key, Logger: log, Registry: registry})
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return certificate, nil
}

func serveHTTP(server *http.Server, certificate *httpserver.Certificate, l net.Listener) error {
	if certificate == nil {
		return server.Serve(l)
	}
	server.TLSConfig = certificate.TLSConfig()
	return server.ServeTLS(l, "", "")
}

func warnOfExposedOperations(address net.Addr, log *slog.Logger) {
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		log.Warn("operations address is reachable from other machines; keep it in a private network, because /metrics needs no token and admin tokens are sent without TLS",
			"address", address.String())
	}
}

// newSingleAddressWarning returns the function that ws.Server calls when it refuses a websocket
// and all its websockets come from one address. If that address is private and trusted_proxies
// is empty, the address is probably a load balancer: the function counts the refusal and logs
// one warning.
func newSingleAddressWarning(proxies []string, registry prometheus.Registerer, log *slog.Logger) func(netip.Addr) {
	refusals := metric.For(registry, "laststand_").Counter("ws_single_address_refusals_total", "Websockets refused because all websockets come from one private address while trusted_proxies is empty.")
	var once sync.Once
	return func(from netip.Addr) {
		if len(proxies) > 0 || !isPrivate(from) {
			return
		}
		refusals.Inc()
		once.Do(func() {
			log.Warn("websocket refused: one private address has reached its limit of websockets; add your proxy to trusted_proxies and let it send X-Forwarded-For or the PROXY protocol, or raise limits.connections_per_address", "address", from)
		})
	}
}

// carrierGradeNAT is the address range that carriers and clouds use behind their address
// translators (RFC 6598).
var carrierGradeNAT = netip.MustParsePrefix("100.64.0.0/10")

func isPrivate(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || carrierGradeNAT.Contains(a)
}

// trustedProxies returns the proxies of trusted_proxies. The server counts requests with
// forwarding headers from other peers, and now and then logs one of these peers. Such a peer may be a proxy that the operator has not listed; then all its players count
// as one address.
func trustedProxies(proxies []string, registry prometheus.Registerer, log *slog.Logger) *httpserver.TrustedProxies {
	trusted, _ := httpserver.ParseTrustedProxies(proxies) // validate checked it
	ignored := metric.For(registry, "laststand_").Counter("untrusted_forwarded_headers_total", "Requests with X-Forwarded-For from a peer that is not a trusted proxy; the server ignores the header.")
	logging := rate.Sometimes{First: 3, Interval: 10 * time.Minute}
	trusted.OnUntrustedForward = func(peer netip.Addr) {
		ignored.Inc()
		logging.Do(func() {
			log.Warn("X-Forwarded-For from an untrusted address ignored; add the address to trusted_proxies if it is your proxy, because otherwise all its players count as one address", "peer", peer)
		})
	}
	return trusted
}
