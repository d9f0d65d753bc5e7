package httpguard

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Timeouts limits the time of each part of a request and its response. They do
// not apply to a websocket.
type Times struct {
	Header time.Duration // reading a request's head; also the TLS handshake
	Read   time.Duration // reading a whole request
	Write  time.Duration // from the head of a request to the last byte of its response
	Idle   time.Duration // between two requests of one connection
}

// DefaultTimeouts are the timeouts of a server whose responses are short.
var Usual = Times{Header: 5 * time.Second, Read: 30 * time.Second, Write: 60 * time.Second, Idle: 2 * time.Minute}

// The limits of a request's head. The longest URL of the contract names 200
// players of a leaderboard and has about 13 kB.
const (
	maxHead    = 16 << 10 // bytes; Go allows 4 KiB more before it answers 431
	maxURL     = 14 << 10 // bytes
	maxHeaders = 64       // header fields
	maxStreams = 100      // concurrent requests per HTTP/2 connection
)

// Config configures a server. All fields except the last are required.
type Config struct {
	Name     string // name of the listener, for metrics and logs
	Handler  http.Handler
	Times    Times
	Logger   *slog.Logger
	Registry prometheus.Registerer
	Secure   func(*http.Request) bool // whether the client uses TLS, to this server or to a proxy; nil: whether the request's connection does
}

// NewServer returns a server. The caller serves a listener with it, and adds TLS if
// needed.
func NewServer(c Config) *http.Server {
	return &http.Server{
		Handler:           newGuard(c),
		ReadHeaderTimeout: c.Times.Header, ReadTimeout: c.Times.Read, WriteTimeout: c.Times.Write, IdleTimeout: c.Times.Idle,
		MaxHeaderBytes: maxHead,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:       newFaults(c),
	}
}

// guard is the handler that checks a request's head before the next handler. It
// also sets the security headers of each response.
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

// newListenerCounter returns a counter with the listener's name as a label, so
// that several servers can use the same metric.
func vector(c Config, name, help, label string) *prometheus.CounterVec {
	r := prometheus.WrapRegistererWith(prometheus.Labels{"listener": c.Name}, c.Registry)
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
}

// hstsOneYear makes browsers use only TLS for this host, for a year (RFC 6797).
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

// refusalBodies are the problem documents of refusals (RFC 9457), by status.
var problems = map[int]string{
	http.StatusRequestURITooLong: `{"type":"about:blank","title":"Request URI Too Long","status":414,` +
		`"detail":"the URL is longer than 14336 bytes; ask for less at once","code":"bad_request"}` + "\n",
	http.StatusRequestHeaderFieldsTooLarge: `{"type":"about:blank","title":"Request Header Fields Too Large","status":431,` +
		`"detail":"the request has more than 64 headers; send fewer","code":"bad_request"}` + "\n",
}

// refuse writes a refusal instead of calling the next handler, and closes the
// connection.
func (g *guard) refuse(w http.ResponseWriter, reason string, status int) {
	g.refused.WithLabelValues(reason).Inc()
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(problems[status])) // a client that does not read it is gone
}
