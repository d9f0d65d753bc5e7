// Package httpguard makes HTTP servers that strangers may speak to: what a
// connection may take in time and size is bounded, before anything is routed,
// and what goes wrong with connections is counted.
package httpguard

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Times are how long parts of a request and its answer may take, however slowly
// the client writes or reads. A websocket leaves them behind.
type Times struct {
	Header time.Duration // a request's head; a TLS handshake too
	Read   time.Duration // a whole request
	Write  time.Duration // from the head of a request to the last byte of its answer
	Idle   time.Duration // between requests of one connection
}

// Usual are the times of a server.
var Usual = Times{Header: 5 * time.Second, Read: 30 * time.Second, Write: 60 * time.Second, Idle: 2 * time.Minute}

// The sizes of a request's head. The longest URL of the contract, 200 players of
// a board, is some 13 kB.
const (
	maxHead    = 16 << 10 // bytes; Go allows 4 KiB more before it answers 431
	maxURL     = 14 << 10 // bytes
	maxHeaders = 64
	maxStreams = 100 // requests at once of one HTTP/2 connection
)

// Config is what a server is made of; all fields but Secure are needed.
type Config struct {
	Name     string // of the listener, in metrics and logs
	Handler  http.Handler
	Times    Times
	Logger   *slog.Logger
	Registry prometheus.Registerer
	Secure   func(*http.Request) bool // whether a client's own connection is TLS; nil: as the request's is
}

// NewServer makes a server of a handler. Its caller gives it a listener, and TLS
// where there is to be any.
func NewServer(c Config) *http.Server {
	return &http.Server{
		Handler:           newGuard(c),
		ReadHeaderTimeout: c.Times.Header, ReadTimeout: c.Times.Read, WriteTimeout: c.Times.Write, IdleTimeout: c.Times.Idle,
		MaxHeaderBytes: maxHead,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:       newFaults(c),
	}
}

// guard is what every request passes first.
type guard struct {
	next    http.Handler
	secure  func(*http.Request) bool
	refused *prometheus.CounterVec // by reason
}

func newGuard(c Config) *guard {
	if c.Secure == nil {
		c.Secure = func(r *http.Request) bool { return r.TLS != nil }
	}
	g := &guard{c.Handler, c.Secure, vector(c, "laststand_http_oversized_requests_total", "Requests refused because their URL or headers are too large, by listener and reason.", "reason")}
	for _, reason := range []string{"url", "headers"} {
		g.refused.WithLabelValues(reason)
	}
	return g
}

// vector is a counter of a listener, which several may have.
func vector(c Config, name, help, label string) *prometheus.CounterVec {
	r := prometheus.WrapRegistererWith(prometheus.Labels{"listener": c.Name}, c.Registry)
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
}

// yearOfTLS has browsers come by TLS only, for a year (RFC 6797).
const yearOfTLS = "max-age=31536000"

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if g.secure(r) {
		h.Set("Strict-Transport-Security", yearOfTLS)
	}
	switch {
	case len(r.RequestURI) > maxURL:
		g.refuse(w, "url", http.StatusRequestURITooLong)
	case count(r.Header) > maxHeaders:
		g.refuse(w, "headers", http.StatusRequestHeaderFieldsTooLarge)
	default:
		g.next.ServeHTTP(w, r)
	}
}

func count(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}

// problems are the bodies of what is refused (RFC 9457), by status.
var problems = map[int]string{
	http.StatusRequestURITooLong: `{"type":"about:blank","title":"Request URI Too Long","status":414,` +
		`"detail":"the URL is longer than 14336 bytes; ask for less at once","code":"bad_request"}` + "\n",
	http.StatusRequestHeaderFieldsTooLarge: `{"type":"about:blank","title":"Request Header Fields Too Large","status":431,` +
		`"detail":"the request has more than 64 headers; send fewer","code":"bad_request"}` + "\n",
}

// refuse answers a request that is not looked at, and ends its connection.
func (g *guard) refuse(w http.ResponseWriter, reason string, status int) {
	g.refused.WithLabelValues(reason).Inc()
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(problems[status])) // who does not read it has gone
}
