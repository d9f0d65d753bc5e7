package main

import (
	"net/netip"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/proxies"
)

// connectionLimits bound connections, hellos and what a node bears before it
// refuses what is less than a match. 0 is no limit.
type connectionLimits struct {
	ConnectionsPerAddress     int64 `yaml:"connections_per_address"`
	HellosPerMinute           int   `yaml:"hellos_per_minute"`
	HellosPerMinutePerAddress int   `yaml:"hellos_per_minute_per_address"`
	RequestsAtOnce            int64 `yaml:"requests_at_once"`
	LagMS                     int64 `yaml:"lag_ms"`
	MemoryMiB                 int64 `yaml:"memory_mib"`  // 0: what the process or the machine has
	GarbageMiB                int64 `yaml:"garbage_mib"` // 0: by the memory there is
}

func defaultConnectionLimits() connectionLimits {
	return connectionLimits{
		ConnectionsPerAddress: 2500, HellosPerMinute: 120_000, HellosPerMinutePerAddress: 3000, RequestsAtOnce: 2000, LagMS: 250,
	}
}

func (l connectionLimits) validate(f *faults) {
	f.between("limits.connections_per_address", l.ConnectionsPerAddress, 0, 10_000_000)
	f.between("limits.hellos_per_minute", int64(l.HellosPerMinute), 0, 100_000_000)
	f.between("limits.hellos_per_minute_per_address", int64(l.HellosPerMinutePerAddress), 0, 1_000_000)
	f.between("limits.requests_at_once", l.RequestsAtOnce, 0, 1_000_000)
	f.between("limits.lag_ms", l.LagMS, 0, 60_000)
	f.between("limits.memory_mib", l.MemoryMiB, 0, 1<<24)
	f.between("limits.garbage_mib", l.GarbageMiB, 0, 1<<24)
}

func (c *config) validateProxies(f *faults) {
	_, err := proxies.Trust(c.TrustedProxies)
	f.add("trusted_proxies", err)
	f.add("proxy_protocol", proxies.Protocol(c.ProxyProtocol).Validate())
	if c.ProxyProtocol != string(proxies.Off) && len(c.TrustedProxies) == 0 {
		f.addf("proxy_protocol: %s needs trusted_proxies: nobody else's headers are believed", c.ProxyProtocol)
	}
}

// mostDoubted bounds the peers that are named in the log for forwarding without
// being trusted.
const mostDoubted = 8

// alone counts websockets that are refused since all are of one private address
// which has its share, while no proxy is trusted, and says so once in the log: that
// address is likely a balancer's.
func (n *node) alone() func(netip.Addr) {
	counted := promauto.With(n.registry).NewCounter(prometheus.CounterOpts{
		Name: "laststand_ws_one_address_total", Help: "Websockets refused since all are of one private address, while no proxy is trusted.",
	})
	var once sync.Once
	return func(from netip.Addr) {
		if len(n.config.TrustedProxies) > 0 || !private(from) {
			return
		}
		counted.Inc()
		once.Do(func() {
			n.log.Warn("all websockets are of one private address, which has as many as one may: if it is a proxy or balancer of yours, name it in trusted_proxies and have it send X-Forwarded-For or the PROXY protocol; else raise limits.connections_per_address", "address", from)
		})
	}
}

// carriers is the range that is shared behind carriers' and clouds' translators
// (RFC 6598).
var carriers = netip.MustParsePrefix("100.64.0.0/10")

func private(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || carriers.Contains(a)
}

// trusted are the proxies that are believed. Who forwards and is not one of them
// is counted, and named once in the log: it may be a proxy that was forgotten
// here, whose players then count as one address.
func (n *node) trusted() *proxies.Trusted {
	t, _ := proxies.Trust(n.config.TrustedProxies) // validated
	counted := doubted(n.registry)
	var named doubters
	t.Doubted = func(peer netip.Addr) {
		counted.Inc()
		if named.add(peer) {
			n.log.Warn("X-Forwarded-For of an address that is not among trusted_proxies is not believed; if it is a proxy of yours, all its players count as one address", "peer", peer)
		}
	}
	return t
}
