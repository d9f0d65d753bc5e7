// Package safehttp makes the HTTP client for addresses that operators of games
// wrote down, and that nobody trusts: it reaches the public internet only.
package safehttp

import (
	"cmp"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// Options shape a client. The zero value is fit for use.
type Options struct {
	AllowPrivate bool          // for receivers within the own network
	Resolver     *net.Resolver // nil: the system's

	perHost  int   // in place of perHost, for tests
	maxReply int64 // in place of maxReply, for tests
}

const (
	perHost   = 64      // connections; who finds none waits within its context
	maxReply  = 1 << 20 // bytes of a body
	maxHeader = 64 << 10

	dialTimeout   = 5 * time.Second
	tlsTimeout    = 5 * time.Second
	headerTimeout = 20 * time.Second // Standard Webhooks gives a receiver 15 to 30 s
	totalTimeout  = 30 * time.Second

	// idleTime is less than what proxies and balancers commonly allow: who closes
	// first does not lose a request.
	idleTimeout = 90 * time.Second
)

// New makes a client that follows no redirect, whose answer is returned as it
// is; that refuses to connect to an address that is not public, with a
// BlockedError, whatever name led there; that goes by no proxy; and whose times
// and replies are bounded. To read more of a reply than 1 MiB is an
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

// versions leaves out HTTP/2: all tries to a host would share one connection,
// and when that dies they would time out together until it is noticed.
func httpVersions() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// bounded cuts off replies that are too long.
type limitedTransport struct {
	base     *http.Transport
	maxBytes int64
}

// RoundTrip is for the client.
func (b *limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	reply, err := b.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	reply.Body = http.MaxBytesReader(nil, reply.Body, b.maxBytes)
	return reply, nil
}

// CloseIdleConnections is for the client.
func (b *limitedTransport) CloseIdleConnections() { b.base.CloseIdleConnections() }
