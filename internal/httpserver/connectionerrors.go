package httpserver

import (
	"bytes"
	"log"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// connectionErrors is the writer of net/http's error log. It counts the lines by
// kind. It logs only kinds that a client cannot cause at will, and never what a
// client sent.
type connectionErrors struct {
	listener string
	logger   *slog.Logger
	counter  *prometheus.CounterVec // error log lines by kind
}

// errorKinds maps prefixes of net/http's log lines to kinds. A line of the kind is
// logged as logMessage; "" means that it is only counted.
var errorKinds = []struct {
	linePrefix []byte
	kind       string
	logMessage string
}{
	{[]byte("TLS handshake error"), "tls_handshake", ""},
	{[]byte("http: panic serving"), "panic", "request panicked; connection closed"},
	{[]byte("http2: panic serving"), "panic", "request panicked; stream closed"},
	{[]byte("http: Accept error"), "accept", "accepting connections failed; check the limit of open files"},
}

// otherKind is the kind of all other lines.
const otherKind = "other"

func newErrorLog(config Config) *log.Logger {
	errors := &connectionErrors{config.Name, config.Logger, newListenerCounter(config, "laststand_http_connection_errors_total", "Errors of HTTP connections, by listener and kind.", "kind")}
	for _, errorKind := range errorKinds {
		errors.counter.WithLabelValues(errorKind.kind)
	}
	errors.counter.WithLabelValues(otherKind)
	return log.New(errors, "", 0)
}

// Write handles one line of net/http's error log. It never fails.
func (f *connectionErrors) Write(line []byte) (int, error) {
	for _, errorKind := range errorKinds {
		if !bytes.HasPrefix(line, errorKind.linePrefix) && !bytes.HasPrefix(line, append([]byte("http: "), errorKind.linePrefix...)) {
			continue
		}
		f.counter.WithLabelValues(errorKind.kind).Inc()
		if errorKind.logMessage != "" {
			f.logger.Error(errorKind.logMessage, "listener", f.listener, "at", panicLocation(line))
		}
		return len(line), nil
	}
	f.counter.WithLabelValues(otherKind).Inc()
	return len(line), nil
}

// panicLocation returns the lines of a panic's stack that name files, at most 12.
// They contain no data of the request.
func panicLocation(line []byte) string {
	var files [][]byte
	for part := range bytes.Lines(line) {
		if bytes.HasPrefix(part, []byte("\t")) && len(files) < 12 {
			files = append(files, bytes.TrimSpace(part))
		}
	}
	return string(bytes.Join(files, []byte("; ")))
}
