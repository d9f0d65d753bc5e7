package httpguard

import (
	"bytes"
	"log"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// faults are what net/http has to say of connections: counted by kind. What a
// client wrote is never logged, and what any client can bring about is not
// logged at all.
type faults struct {
	listener string
	logger   *slog.Logger
	seen     *prometheus.CounterVec // by kind
}

// kinds are net/http's words for what happens, and ours. What is told is logged.
var kinds = []struct {
	says []byte
	kind string
	told string
}{
	{[]byte("TLS handshake error"), "tls_handshake", ""},
	{[]byte("http: panic serving"), "panic", "a request panicked; the connection was closed"},
	{[]byte("http2: panic serving"), "panic", "a request panicked; its stream was closed"},
	{[]byte("http: Accept error"), "accept", "no connection can be accepted; is there a limit of open files?"},
}

const otherKind = "other"

func newFaults(c Config) *log.Logger {
	f := &faults{c.Name, c.Logger, vector(c, "laststand_http_connection_errors_total", "Errors of HTTP connections, by listener and kind.", "kind")}
	for _, k := range kinds {
		f.seen.WithLabelValues(k.kind)
	}
	f.seen.WithLabelValues(otherKind)
	return log.New(f, "", 0)
}

// Write takes a line of net/http's log. It never fails.
func (f *faults) Write(line []byte) (int, error) {
	for _, k := range kinds {
		if !bytes.HasPrefix(line, k.says) && !bytes.HasPrefix(line, append([]byte("http: "), k.says...)) {
			continue
		}
		f.seen.WithLabelValues(k.kind).Inc()
		if k.told != "" {
			f.logger.Error(k.told, "listener", f.listener, "at", place(line))
		}
		return len(line), nil
	}
	f.seen.WithLabelValues(otherKind).Inc()
	return len(line), nil
}

// place is where in the code a panic was: the lines of a stack that name files,
// which hold nothing of a request.
func place(line []byte) string {
	var at [][]byte
	for part := range bytes.Lines(line) {
		if bytes.HasPrefix(part, []byte("\t")) && len(at) < 12 {
			at = append(at, bytes.TrimSpace(part))
		}
	}
	return string(bytes.Join(at, []byte("; ")))
}
