package main

import (
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/proxies"
)

// connectionLimits bounds connections, hellos and the load at which a node refuses work. 0
// means no limit.
type connectionLimits struct {
	// Websockets of an address (IPv6: of a /64) at a node; fewer when over half of connections are in use. Connections of any kind get twice as many and 64 more.
	ConnectionsPerAddress int64 `yaml:"connections_per_address" range:"0..10000000"`
	// Logins (hello messages) at a node. Logins of players who resume a match do not count.
	HellosPerMinute int `yaml:"hellos_per_minute" range:"0..100000000"`
	// Logins (hello messages) of one address at a node.
	HellosPerMinutePerAddress int `yaml:"hellos_per_minute_per_address" range:"0..1000000"`
	// HTTP requests that a node handles at once. From half of it on, the node sheds load. Higher: more load before a refusal. Lower: faster answers under load.
	MaxConcurrentRequests int64 `yaml:"max_concurrent_requests" range:"0..1000000"`
	// Scheduler lag (99th percentile, for 3 s) from which on a node sheds load. A 64th of it, at least 2 ms, stops further duels. Higher: more players, slower answers. Lower: earlier refusals. 0: lag never sheds load.
	MaxSchedulerLagMS int64 `yaml:"max_scheduler_lag_ms" range:"0..60000"`
	// Memory that the process may use; from 70% of it on, the node sheds load. 0: GOMEMLIMIT, or the memory of the container or machine.
	MaxMemoryMiB int64 `yaml:"max_memory_mib" range:"0..16777216"`
	// Run the garbage collector after this much allocation, at the earliest. Higher: less CPU. Lower: less memory. 0: a sixteenth of the memory. 1: as Go does by itself. GOGC takes precedence.
	GCHeadroomMiB int64 `yaml:"gc_headroom_mib" range:"0..16777216"`
}

func defaultConnectionLimits() connectionLimits {
	return connectionLimits{
		ConnectionsPerAddress: 2500, HellosPerMinute: 120_000, HellosPerMinutePerAddress: 3000, MaxConcurrentRequests: 2000, MaxSchedulerLagMS: 250,
	}
}

func (c *config) validateProxies(f *faults) {
	_, err := proxies.Trust(c.TrustedProxies)
	f.add("trusted_proxies", err)
	f.add("proxy_protocol", proxies.Protocol(c.ProxyProtocol).Validate())
	if c.ProxyProtocol != string(proxies.Off) && len(c.TrustedProxies) == 0 {
		f.addf("proxy_protocol: %s needs trusted_proxies: the server ignores the headers of other peers", c.ProxyProtocol)
	}
}

// maxLoggedPeers is how many untrusted peers with forwarding headers the log names.
const maxLoggedPeers = 8

// warnOfSingleAddress returns a function that counts refused websockets if all websockets come
// from one private address and no proxy is trusted. That address is probably a load balancer.
// The log warns once.
func (n *node) warnOfSingleAddress() func(netip.Addr) {
	refusals := promauto.With(n.registry).NewCounter(prometheus.CounterOpts{
		Name: "laststand_ws_single_address_refusals_total", Help: "Websockets refused because all websockets come from one private address while trusted_proxies is empty.",
	})
	var once sync.Once
	return func(from netip.Addr) {
		if len(n.config.TrustedProxies) > 0 || !isPrivate(from) {
			return
		}
		refusals.Inc()
		once.Do(func() {
			n.log.Warn("one private address has all websockets and reached its limit; add your proxy to trusted_proxies and let it send X-Forwarded-For or the PROXY protocol, or raise limits.connections_per_address", "address", from)
		})
	}
}

// carrierGradeNAT is the shared range behind the address translators of carriers and clouds
// (RFC 6598).
var carrierGradeNAT = netip.MustParsePrefix("100.64.0.0/10")

func isPrivate(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || carrierGradeNAT.Contains(a)
}

// trustedProxies returns the trusted proxies. The server counts requests of other peers with
// forwarding headers and logs each such peer once. The operator may have forgotten a proxy,
// and all its players then count as one address.
func (n *node) trustedProxies() *proxies.Trusted {
	t, _ := proxies.Trust(n.config.TrustedProxies) // validate checked it
	refusals := newUntrustedCounter(n.registry)
	var named untrustedPeers
	t.Doubted = func(peer netip.Addr) {
		refusals.Inc()
		if named.addNew(peer) {
			n.log.Warn("X-Forwarded-For of an untrusted address ignored; add the address to trusted_proxies if it is your proxy, because otherwise all its players count as one address", "peer", peer)
		}
	}
	return t
}
