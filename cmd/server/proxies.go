package main

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"laststand/internal/httpserver"
)

// newSingleAddressWarning returns the function that ws.Server calls when it refuses a websocket
// and all its websockets come from one address. If that address is private and trusted_proxies
// is empty, the address is probably a load balancer: the function counts the refusal and logs
// one warning.
func newSingleAddressWarning(proxies []string, registry prometheus.Registerer, log *slog.Logger) func(netip.Addr) {
	refusals := promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Name: "laststand_ws_single_address_refusals_total", Help: "Websockets refused because all websockets come from one private address while trusted_proxies is empty.",
	})
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
	ignored := promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Name: "laststand_untrusted_forwarded_headers_total", Help: "Requests with X-Forwarded-For from a peer that is not a trusted proxy; the server ignores the header.",
	})
	logging := rate.Sometimes{First: 3, Interval: 10 * time.Minute}
	trusted.OnUntrustedForward = func(peer netip.Addr) {
		ignored.Inc()
		logging.Do(func() {
			log.Warn("X-Forwarded-For from an untrusted address ignored; add the address to trusted_proxies if it is your proxy, because otherwise all its players count as one address", "peer", peer)
		})
	}
	return trusted
}
