package main

import (
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/httpserver"
)

// connectionLimits limits connections and logins per node, and the load of a node. An address
// is the IP address of a client (IPv6: its /64). 0 means no limit unless the comment says
// otherwise. defaultConnectionLimits has the defaults.
type connectionLimits struct {
	// Maximum number of websockets per address (IPv6: per /64) and node. When more than half of connections are in use, the limit per address falls, to a twentieth at least. Connections of all kinds together may be twice as many and 64 more.
	ConnectionsPerAddress int64 `yaml:"connections_per_address" range:"0..10000000"`
	// Maximum number of logins (hello messages) per minute and node. Logins of players who resume a match do not count.
	HellosPerMinute int `yaml:"hellos_per_minute" range:"0..100000000"`
	// Maximum number of logins (hello messages) per minute, address and node.
	HellosPerMinutePerAddress int `yaml:"hellos_per_minute_per_address" range:"0..1000000"`
	// Maximum number of HTTP requests that a node handles at the same time. From half of this number on, the node sheds load: it refuses some requests. Higher: later refusals. Lower: faster responses under load.
	MaxConcurrentRequests int64 `yaml:"max_concurrent_requests" range:"0..1000000"`
	// Scheduler lag in ms (99th percentile, for 3 s) from which on a node sheds load. From a 64th of this lag on, and at least 2 ms, the node starts no further duels. Higher: more players, slower responses. Lower: earlier refusals. 0: the node ignores the lag.
	MaxSchedulerLagMS int64 `yaml:"max_scheduler_lag_ms" range:"0..60000"`
	// Memory that the process may use, in MiB. From 70% on, the node sheds load. 0: the value of GOMEMLIMIT, else the memory of the container or machine.
	MaxMemoryMiB int64 `yaml:"max_memory_mib" range:"0..16777216"`
	// Memory that the process allocates before the garbage collector runs again, at least, in MiB. Higher: less CPU. Lower: less memory. 0: a sixteenth of max_memory_mib. 1: the default behaviour of Go. The environment variable GOGC takes precedence.
	GCHeadroomMiB int64 `yaml:"gc_headroom_mib" range:"0..16777216"`
}

func defaultConnectionLimits() connectionLimits {
	return connectionLimits{
		ConnectionsPerAddress: 2500, HellosPerMinute: 120_000, HellosPerMinutePerAddress: 3000, MaxConcurrentRequests: 2000, MaxSchedulerLagMS: 250,
	}
}

func (c *config) validateProxies(errs *validationErrors) {
	_, err := httpserver.ParseTrustedProxies(c.TrustedProxies)
	errs.add("trusted_proxies", err)
	errs.add("proxy_protocol", httpserver.ProxyProtocol(c.ProxyProtocol).Validate())
	if c.ProxyProtocol != string(httpserver.ProxyOff) && len(c.TrustedProxies) == 0 {
		errs.addf("proxy_protocol: %s requires trusted_proxies, because the server ignores the headers of other peers", c.ProxyProtocol)
	}
}

// maxLoggedPeers is the maximum number of untrusted peers with forwarding headers that the log
// names.
const maxLoggedPeers = 8

// newSingleAddressWarning returns the function that ws.Server calls when it refuses a websocket
// and all its websockets come from one address. If that address is private and trusted_proxies
// is empty, the address is probably a load balancer: the function counts the refusal and logs
// one warning.
func (n *node) newSingleAddressWarning() func(netip.Addr) {
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
			n.log.Warn("websocket refused: one private address has reached its limit of websockets; add your proxy to trusted_proxies and let it send X-Forwarded-For or the PROXY protocol, or raise limits.connections_per_address", "address", from)
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
// forwarding headers from other peers, and logs the first maxLoggedPeers of these peers once
// each. Such a peer may be a proxy that the operator has not listed; then all its players count
// as one address.
func (n *node) trustedProxies() *httpserver.TrustedProxies {
	trusted, _ := httpserver.ParseTrustedProxies(n.config.TrustedProxies) // validate checked it
	ignored := newUntrustedHeadersCounter(n.registry)
	var logged loggedPeers
	trusted.OnUntrustedForward = func(peer netip.Addr) {
		ignored.Inc()
		if logged.addIfNew(peer) {
			n.log.Warn("X-Forwarded-For from an untrusted address ignored; add the address to trusted_proxies if it is your proxy, because otherwise all its players count as one address", "peer", peer)
		}
	}
	return trusted
}
