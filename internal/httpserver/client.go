package httpserver

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// ClientOptions configure the client of NewClient. The zero value is ready for use.
type ClientOptions struct {
	AllowPrivate bool          // allow private addresses, for receivers in the operator's own network
	Resolver     *net.Resolver // nil: the system's resolver

	maxConnsPerHost int // for tests: replaces the constant; 0: the constant
}

// maxConnsPerHost is the maximum of connections per host. Further requests wait for one until
// their context ends.
const maxConnsPerHost = 64

// NewClient returns a client for untrusted addresses. It returns redirects instead of
// following them. It refuses to connect to an address that is not public, with a
// BlockedError, even if a public name resolves to it. It uses no proxy. It limits the
// times of a request and the size of the response's head. The caller must limit how much
// of the body it reads.
func NewClient(options ClientOptions) *http.Client {
	return &http.Client{
		Transport:     newTransport(options),
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

// BlockedError means that the client refused to connect to an address, because the
// address is not public.
type BlockedError struct{ Address string }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s is not an address of the public internet; if you trust the receiver, set allow_private: true", e.Address)
}

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

// publicInternet refuses the addresses that the registries of IANA list as not globally reachable.
var publicInternet = ssrf.New(ssrf.WithAnyPort(), ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32"))) // metadata of Azure

// isPublic returns true if an address is globally reachable. It returns false for an address that
// has another address embedded in it, except an IPv4 address mapped to IPv6.
func isPublic(address netip.Addr) bool {
	address = address.Unmap().WithZone("") // a prefix contains no address with a zone
	return address.IsValid() && publicInternet.SafeAddr(address) == nil
}
