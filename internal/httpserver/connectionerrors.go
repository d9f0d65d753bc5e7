package httpserver

import (
	"log"
	"log/slog"
	"strings"

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
