package httpguard

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Times limit the parts of a request and its answer, however slow the client
// is. They do not apply to a websocket.
type Times struct {
	Header time.Duration // a request's head; a TLS handshake too
	Read   time.Duration // a whole request
	Write  time.Duration // from the head of a request to the last byte of its answer
	Idle   time.Duration // between requests of one connection
}

// Usual are the times of a normal server.
var Usual = Times{Header: 5 * time.Second, Read: 30 * time.Second, Write: 60 * time.Second, Idle: 2 * time.Minute}

// The sizes of a request's head. The longest URL of the contract, 200 players of
// a board, is some 13 kB.
const (
	maxHead    = 16 << 10 // bytes; Go allows 4 KiB more before it answers 431
	maxURL     = 14 << 10 // bytes
	maxHeaders = 64
	maxStreams = 100 // requests at once of one HTTP/2 connection
)

// Config configures a server; all fields but Secure are required.
type Config struct {
	Name     string // of the listener, in metrics and logs
	Handler  http.Handler
	Times    Times
	Logger   *slog.Logger
	Registry prometheus.Registerer
	Secure   func(*http.Request) bool // whether a client's own connection is TLS; nil: as the request's is
}

// NewServer makes a server. The caller must add a listener, and TLS if needed.
func NewServer(c Config) *http.Server {
	return &http.Server{
		Handler:           newGuard(c),
		ReadHeaderTimeout: c.Times.Header, ReadTimeout: c.Times.Read, WriteTimeout: c.Times.Write, IdleTimeout: c.Times.Idle,
		MaxHeaderBytes: maxHead,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:       newFaults(c),
	}
}

// guard checks every request first.
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

// vector makes a counter with the listener as a label, so several servers can
// share it.
func vector(c Config, name, help, label string) *prometheus.CounterVec {
	r := prometheus.WrapRegistererWith(prometheus.Labels{"listener": c.Name}, c.Registry)
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
}

// yearOfTLS makes browsers use only TLS for a year (RFC 6797).
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

// problems are the bodies of refusals (RFC 9457), by status.
var problems = map[int]string{
	http.StatusRequestURITooLong: `{"type":"about:blank","title":"Request URI Too Long","status":414,` +
		`"detail":"the URL is longer than 14336 bytes; ask for less at once","code":"bad_request"}` + "\n",
	http.StatusRequestHeaderFieldsTooLarge: `{"type":"about:blank","title":"Request Header Fields Too Large","status":431,` +
		`"detail":"the request has more than 64 headers; send fewer","code":"bad_request"}` + "\n",
}

// refuse answers a request without routing it and closes its connection.
func (g *guard) refuse(w http.ResponseWriter, reason string, status int) {
	g.refused.WithLabelValues(reason).Inc()
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(problems[status])) // a client that does not read it is gone
}
