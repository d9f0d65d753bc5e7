package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ClientOptions configure the client of NewClient. The zero value is ready for use.
type ClientOptions struct {
	AllowPrivate bool          // allow private addresses, for receivers in the operator's own network
	Resolver     *net.Resolver // nil: the system's resolver

	maxConnsPerHost  int   // for tests: replaces the constant; 0: the constant
	maxResponseBytes int64 // for tests: replaces the constant; 0: the constant
}

const (
	maxConnsPerHost  = 64      // maximum of connections per host; further requests wait for one until their context ends
	maxResponseBytes = 1 << 20 // maximum size of a response body, in bytes
)

// NewClient returns a client for untrusted addresses. It returns redirects instead of
// following them. It refuses to connect to an address that is not public, with a
// BlockedError, even if a public name resolves to it. It uses no proxy. It limits the
// times of a request and the size of its response. If the caller reads more than 1 MiB
// of a response, the error is an *http.MaxBytesError.
func NewClient(options ClientOptions) *http.Client {
	return &http.Client{
		Transport:     &limitedTransport{base: newTransport(options), maxBytes: cmp.Or(options.maxResponseBytes, maxResponseBytes)},
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(options ClientOptions) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, Resolver: options.Resolver}
	if !options.AllowPrivate {
		dialer.ControlContext = refusePrivate
	}
	connections := cmp.Or(options.maxConnsPerHost, maxConnsPerHost)
	// With HTTP/2 all attempts to a host would share one connection. If that connection
	// failed, all would time out until the client notices.
	onlyHTTP1 := new(http.Protocols)
	onlyHTTP1.SetHTTP1(true)
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    5 * time.Second,
		ResponseHeaderTimeout:  20 * time.Second, // Standard Webhooks gives a receiver 15 to 30 s
		IdleConnTimeout:        90 * time.Second, // less than usual for proxies: this side closes idle connections first, and loses no request
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		MaxIdleConns:           1024,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		Protocols:              onlyHTTP1,
	}
}

type limitedTransport struct {
	base     *http.Transport
	maxBytes int64
}

// RoundTrip sends a request. Reading too much of the response body returns an error.
func (t *limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, t.maxBytes)
	return response, nil
}

func (t *limitedTransport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// BlockedError means that the client refused to connect to an address, because the
// address is not public.
type BlockedError struct{ Address string }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s is not an address of the public internet; if you trust the receiver, set allow_private: true", e.Address)
}

// Blocked identifies the error for packages that cannot import this one.
func (e *BlockedError) Blocked() bool { return true }

// refusePrivate checks the address immediately before the connection, after the name
// was resolved. So an attacker cannot pass the check with a name that resolves to
// another address the next time.
func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	host, err := netip.ParseAddrPort(address)
	if err != nil || !isPublic(host.Addr()) {
		return &BlockedError{Address: address}
	}
	return nil
}

// isPublic returns true if an address is globally reachable, by the special-purpose
// registries of IANA. It returns false for an address that has another address
// embedded in it.
func isPublic(address netip.Addr) bool {
	address = address.Unmap().WithZone("") // a prefix contains no address with a zone
	if !address.IsValid() || address.Is6() && !globalUnicast6.Contains(address) {
		return false
	}
	return !slices.ContainsFunc(specialPurpose, func(p netip.Prefix) bool { return p.Contains(address) })
}

// globalUnicast6 is the whole range that is assigned for global unicast. Outside
// of it are loopback, unique local, link-local and multicast addresses. So are
// those with an IPv4 address inside, and NAT64 (64:ff9b::/96, 64:ff9b:1::/48).
var globalUnicast6 = netip.MustParsePrefix("2000::/3")

// specialPurpose lists the ranges that are not public.
var specialPurpose = parsePrefixes(
	"0.0.0.0/8",        // this host
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // between a provider and its customers; metadata of Alibaba
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // metadata of Azure
	"169.254.0.0/16",   // link-local; metadata of most clouds
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocols; metadata of Oracle
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved; broadcast
	"2001::/23",        // protocols; Teredo has an IPv4 address within it
	"2001:db8::/32",    // documentation
	"2002::/16",        // 6to4 has an IPv4 address within it
	"3fff::/20",        // documentation
)

func parsePrefixes(ranges ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(ranges))
	for i, text := range ranges {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}
