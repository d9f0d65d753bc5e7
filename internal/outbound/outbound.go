// Package outbound makes the HTTP client for addresses that operators of games
// wrote down, and that nobody trusts: it reaches the public internet only.
package outbound

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

	dialTime   = 5 * time.Second
	tlsTime    = 5 * time.Second
	headerTime = 20 * time.Second // Standard Webhooks gives a receiver 15 to 30 s
	wholeTime  = 30 * time.Second

	// idleTime is less than what proxies and balancers commonly allow: who closes
	// first does not lose a request.
	idleTime = 90 * time.Second
)

// New makes a client that follows no redirect, whose answer is returned as it
// is; that refuses to connect to an address that is not public, with a
// BlockedError, whatever name led there; that goes by no proxy; and whose times
// and replies are bounded. To read more of a reply than 1 MiB is an
// *http.MaxBytesError.
func New(o Options) *http.Client {
	return &http.Client{
		Transport:     &bounded{base: newTransport(o), most: cmp.Or(o.maxReply, maxReply)},
		Timeout:       wholeTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(o Options) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTime, Resolver: o.Resolver}
	if !o.AllowPrivate {
		dialer.ControlContext = refusePrivate
	}
	connections := cmp.Or(o.perHost, perHost)
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsTime,
		ResponseHeaderTimeout:  headerTime,
		IdleConnTimeout:        idleTime,
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		MaxIdleConns:           1024,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
		Protocols:              versions(),
	}
}

// versions leaves out HTTP/2: all tries to a host would share one connection,
// and when that dies they would time out together until it is noticed.
func versions() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// bounded cuts off replies that are too long.
type bounded struct {
	base *http.Transport
	most int64
}

// RoundTrip is for the client.
func (b *bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	reply, err := b.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	reply.Body = http.MaxBytesReader(nil, reply.Body, b.most)
	return reply, nil
}

// CloseIdleConnections is for the client.
func (b *bounded) CloseIdleConnections() { b.base.CloseIdleConnections() }
