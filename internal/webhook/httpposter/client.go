package httpposter

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
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
	maxConnsPerHost  = 64       // maximum of connections per host; further requests wait for one until their context ends
	maxResponseBytes = 1 << 20  // maximum size of a response body, in bytes
	maxHeaderBytes   = 64 << 10 // maximum size of a response's headers, in bytes

	dialTimeout   = 5 * time.Second
	tlsTimeout    = 5 * time.Second
	headerTimeout = 20 * time.Second // Standard Webhooks gives a receiver 15 to 30 s
	totalTimeout  = 30 * time.Second

	// idleTimeout is less than the usual idle timeout of proxies and load balancers.
	// So this side closes idle connections first, and loses no request.
	idleTimeout = 90 * time.Second
)

// NewClient returns a client for untrusted addresses. It returns redirects instead of
// following them. It refuses to connect to an address that is not public, with a
// BlockedError, even if a public name resolves to it. It uses no proxy. It limits the
// times of a request and the size of its response. If the caller reads more than 1 MiB
// of a response, the error is an *http.MaxBytesError.
func NewClient(options ClientOptions) *http.Client {
	return &http.Client{
		Transport:     &limitedTransport{base: newTransport(options), maxBytes: cmp.Or(options.maxResponseBytes, maxResponseBytes)},
		Timeout:       totalTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(options ClientOptions) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Resolver: options.Resolver}
	if !options.AllowPrivate {
		dialer.ControlContext = refusePrivate
	}
	connections := cmp.Or(options.maxConnsPerHost, maxConnsPerHost)
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		MaxIdleConns:           1024,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		Protocols:              onlyHTTP1(),
	}
}

// onlyHTTP1 excludes HTTP/2. With HTTP/2 all attempts to a host would share one
// connection. If that connection failed, all would time out until the client notices.
func onlyHTTP1() *http.Protocols {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return protocols
}

// limitedTransport limits the size of response bodies.
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

// CloseIdleConnections lets http.Client close idle connections.
func (t *limitedTransport) CloseIdleConnections() { t.base.CloseIdleConnections() }
