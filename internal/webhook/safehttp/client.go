package safehttp

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Options configure a client. The zero value is ready for use.
type Options struct {
	AllowPrivate bool          // for receivers in the operator's own network
	Resolver     *net.Resolver // nil: the system's

	perHost  int   // in place of perHost, for tests
	maxReply int64 // in place of maxReply, for tests
}

const (
	perHost   = 64      // connections; a request without one waits until its context ends
	maxReply  = 1 << 20 // bytes of a body
	maxHeader = 64 << 10

	dialTimeout   = 5 * time.Second
	tlsTimeout    = 5 * time.Second
	headerTimeout = 20 * time.Second // Standard Webhooks gives a receiver 15 to 30 s
	totalTimeout  = 30 * time.Second

	// idleTimeout is less than the usual timeout of proxies and balancers. The
	// side that closes first does not lose a request.
	idleTimeout = 90 * time.Second
)

// New returns a client for untrusted addresses. It does not follow redirects but
// returns them. It refuses to connect to an address that is not public, with a
// BlockedError, whatever name led there. It uses no proxy, and bounds times and
// replies. If the caller reads more than 1 MiB of a reply, the error is an
// *http.MaxBytesError.
func New(o Options) *http.Client {
	return &http.Client{
		Transport:     &limitedTransport{base: newTransport(o), maxBytes: cmp.Or(o.maxReply, maxReply)},
		Timeout:       totalTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: o.Resolver}
	if !o.AllowPrivate {
		dialer.ControlContext = refusePrivate
	}
	connections := cmp.Or(o.perHost, perHost)
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		MaxIdleConns:           1024,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
		Protocols:              httpVersions(),
	}
}

// httpVersions leaves out HTTP/2. With it, all attempts to a host would share one
// connection. When that connection died, they would time out together until the
// client notices.
func httpVersions() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// limitedTransport cuts off replies that are too long.
type limitedTransport struct {
	base     *http.Transport
	maxBytes int64
}

// RoundTrip implements http.RoundTripper.
func (b *limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	reply, err := b.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	reply.Body = http.MaxBytesReader(nil, reply.Body, b.maxBytes)
	return reply, nil
}

// CloseIdleConnections lets http.Client close idle connections.
func (b *limitedTransport) CloseIdleConnections() { b.base.CloseIdleConnections() }
