package httpguard

import (
	"bytes"
	"log"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// connectionErrors is the writer of net/http's error log. It counts the lines by
// kind. It logs only kinds that a client cannot cause at will, and never what a
// client sent.
type faults struct {
	listener string
	logger   *slog.Logger
	seen     *prometheus.CounterVec // error log lines by kind
}

// errorKinds maps prefixes of net/http's log lines to kinds. A line of the kind is
// logged as logMessage; "" means that it is only counted.
var kinds = []struct {
	says     []byte
	kind     string
	reported string
}{
	{[]byte("TLS handshake error"), "tls_handshake", ""},
	{[]byte("http: panic serving"), "panic", "request panicked; connection closed"},
	{[]byte("http2: panic serving"), "panic", "request panicked; stream closed"},
	{[]byte("http: Accept error"), "accept", "accepting connections failed; check the limit of open files"},
}

// otherKind is the kind of all other lines.
const otherKind = "other"

func newFaults(c Config) *log.Logger {
	f := &faults{c.Name, c.Logger, vector(c, "laststand_http_connection_errors_total", "Errors of HTTP connections, by listener and kind.", "kind")}
	for _, k := range kinds {
		f.seen.WithLabelValues(k.kind)
	}
	f.seen.WithLabelValues(otherKind)
	return log.New(f, "", 0)
}

// Write handles one line of net/http's error log. It never fails.
func (f *faults) Write(line []byte) (int, error) {
	for _, k := range kinds {
		if !bytes.HasPrefix(line, k.says) && !bytes.HasPrefix(line, append([]byte("http: "), k.says...)) {
			continue
		}
		f.seen.WithLabelValues(k.kind).Inc()
		if k.reported != "" {
			f.logger.Error(k.reported, "listener", f.listener, "at", place(line))
		}
		return len(line), nil
	}
	f.seen.WithLabelValues(otherKind).Inc()
	return len(line), nil
}

// panicLocation returns the lines of a panic's stack that name files, at most 12.
// They contain no data of the request.
func place(line []byte) string {
	var at [][]byte
	for part := range bytes.Lines(line) {
		if bytes.HasPrefix(part, []byte("\t")) && len(at) < 12 {
			at = append(at, bytes.TrimSpace(part))
		}
	}
	return string(bytes.Join(at, []byte("; ")))
}
