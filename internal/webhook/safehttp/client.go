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
	AllowPrivate bool          // allow private addresses, for receivers in the operator's own network
	Resolver     *net.Resolver // nil: the system's resolver

	perHost  int   // for tests: replaces the constant; 0: the constant
	maxReply int64 // for tests: replaces the constant; 0: the constant
}

const (
	perHost   = 64       // maximum of connections per host; further requests wait for one until their context ends
	maxReply  = 1 << 20  // maximum size of a response body, in bytes
	maxHeader = 64 << 10 // maximum size of a response's headers, in bytes

	dialTimeout   = 5 * time.Second
	tlsTimeout    = 5 * time.Second
	headerTimeout = 20 * time.Second // Standard Webhooks gives a receiver 15 to 30 s
	totalTimeout  = 30 * time.Second

	// idleTimeout is less than the usual idle timeout of proxies and load balancers.
	// So this side closes idle connections first, and loses no request.
	idleTimeout = 90 * time.Second
)

// New returns a client for untrusted addresses. It returns redirects instead of
// following them. It refuses to connect to an address that is not public, with a
// BlockedError, even if a public name resolves to it. It uses no proxy. It limits the
// times of a request and the size of its response. If the caller reads more than 1 MiB
// of a response, the error is an *http.MaxBytesError.
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

// onlyHTTP1 excludes HTTP/2. With HTTP/2 all attempts to a host would share one
// connection. If that connection failed, all would time out until the client notices.
func httpVersions() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// limitedTransport limits the size of response bodies.
type limitedTransport struct {
	base     *http.Transport
	maxBytes int64
}

// RoundTrip sends a request. Reading too much of the response body returns an error.
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
