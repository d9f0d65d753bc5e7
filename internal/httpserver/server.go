package httpserver

import (
	"log"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
	"laststand/internal/protocol"
)

// The time limits of each part of a request and its response. They do not apply to a
// websocket.
const (
	headerTimeout = 5 * time.Second  // reading a request's head; also the TLS handshake
	readTimeout   = 30 * time.Second // reading a whole request
	writeTimeout  = 60 * time.Second // from the head of a request to the last byte of its response
	idleTimeout   = 2 * time.Minute  // between two requests of one connection
)

// The limits of a request's head. The longest URL of the contract names 200
// players of a leaderboard and has about 13 kB.
const (
	maxHeaderBytes          = 16 << 10 // bytes; Go allows 4 KiB more before it answers 431
	maxURLBytes             = 14 << 10 // bytes
	maxHeaders              = 64       // header fields
	maxStreamsPerConnection = 100      // concurrent requests per HTTP/2 connection
)

// Config configures a server. All fields except the last are required.
type Config struct {
	Name     string // name of the listener, for metrics and logs
	Handler  http.Handler
	Logger   *slog.Logger
	Registry prometheus.Registerer
	IsTLS    func(*http.Request) bool // whether the client uses TLS, to this server or to a proxy; nil: whether the request's connection does
}

// New returns a server. The caller serves a listener with it, and adds TLS if
// needed.
func New(config Config) *http.Server {
	errorCounter := newListenerCounter(config, "connection_errors_total", "Errors of HTTP connections, by listener and kind.", "kind")
	return &http.Server{
		Handler:           newGuard(config),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreamsPerConnection},
		ErrorLog:       newErrorLog(config.Name, config.Logger, errorCounter),
	}
}

// guard is the handler that checks a request's head before the next handler. It
// also sets the security headers of each response.
type guard struct {
	next    http.Handler
	isTLS   func(*http.Request) bool
	refused *prometheus.CounterVec // by reason
}

func newGuard(config Config) *guard {
	if config.IsTLS == nil {
		config.IsTLS = func(r *http.Request) bool { return r.TLS != nil }
	}
	return &guard{config.Handler, config.IsTLS, newListenerCounter(config, "oversized_requests_total", "Requests refused because their URL or headers are too large, by listener and reason.", "reason", "url", "headers")}
}

// newListenerCounter returns a counter with the listener's name as a label, so
// that several servers can use the same metric.
func newListenerCounter(config Config, name, help, label string, values ...string) *prometheus.CounterVec {
	return metric.For(config.Registry, "laststand_http_").With(prometheus.Labels{"listener": config.Name}).CountersOf(name, help, label, values...)
}

// hstsOneYear makes browsers use only TLS for this host, for a year (RFC 6797).
const hstsOneYear = "max-age=31536000"

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if g.isTLS(r) {
		header.Set("Strict-Transport-Security", hstsOneYear)
	}
	switch {
	case len(r.RequestURI) > maxURLBytes:
		g.refuse(w, "url", http.StatusRequestURITooLong, "the URL is longer than %d bytes; ask for less at once", maxURLBytes)
	case countHeaders(r.Header) > maxHeaders:
		g.refuse(w, "headers", http.StatusRequestHeaderFieldsTooLarge, "the request has more than %d headers; send fewer", maxHeaders)
	default:
		g.next.ServeHTTP(w, r)
	}
}

func countHeaders(header http.Header) (n int) {
	for _, values := range header {
		n += len(values)
	}
	return n
}

// refuse writes a refusal instead of calling the next handler, and closes the
// connection.
func (g *guard) refuse(w http.ResponseWriter, reason string, status int, format string, limit int) {
	g.refused.WithLabelValues(reason).Inc()
	w.Header().Set("Connection", "close")
	WriteProblem(w, newProblem(protocol.Errorf(protocol.CodeBadRequest, format, limit), status))
}

// connectionErrors is the writer of net/http's error log. It counts the lines by
// kind. It logs only kinds that a client cannot cause at will, and never what a
// client sent.
type connectionErrors struct {
	listener string
	logger   *slog.Logger
	counter  *prometheus.CounterVec // error log lines by kind
}

// errorKinds maps the beginnings of net/http's log lines, without "http: ", to kinds. A line of
// the kind is logged as logMessage; "" means that it is only counted. The last row is for all
// other lines.
var errorKinds = []struct{ beginning, kind, logMessage string }{
	{"TLS handshake error", "tls_handshake", ""},
	{"panic serving", "panic", "request panicked; connection closed"},
	{"http2: panic serving", "panic", "request panicked; stream closed"},
	{"Accept error", "accept", "accepting connections failed; check the limit of open files"},
	{"", "other", ""},
}

func newErrorLog(listener string, logger *slog.Logger, counter *prometheus.CounterVec) *log.Logger {
	errors := &connectionErrors{listener, logger, counter}
	for _, errorKind := range errorKinds {
		errors.counter.WithLabelValues(errorKind.kind)
	}
	return log.New(errors, "", 0)
}

// Write handles one line of net/http's error log. It never fails.
func (f *connectionErrors) Write(line []byte) (int, error) {
	text := strings.TrimPrefix(string(line), "http: ")
	for _, errorKind := range errorKinds {
		if !strings.HasPrefix(text, errorKind.beginning) {
			continue
		}
		f.counter.WithLabelValues(errorKind.kind).Inc()
		if errorKind.logMessage != "" {
			f.logger.Error(errorKind.logMessage, "listener", f.listener, "at", panicLocation(text))
		}
		break
	}
	return len(line), nil
}

// panicLocation returns the lines of a panic's stack that name files, at most 12.
// They contain no data of the request.
func panicLocation(text string) string {
	var files []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") && len(files) < 12 {
			files = append(files, strings.TrimSpace(line))
		}
	}
	return strings.Join(files, "; ")
}
