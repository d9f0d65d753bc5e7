package httpserver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// pipeListener is a listener of connections in memory.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipeListener) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipeListener) dial() net.Conn {
	clientEnd, serverEnd := net.Pipe()
	p.conns <- serverEnd
	return clientEnd
}

// runTestServer runs a test with a server, in virtual time.
func runTestServer(t *testing.T, handler http.HandlerFunc, test func(listener *pipeListener, r *prometheus.Registry)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		registry := prometheus.NewRegistry()
		server := New(Config{Name: "players", Handler: handler, Logger: slog.New(slog.DiscardHandler), Registry: registry})
		listener := newPipeListener()
		ended := make(chan error)
		go func() { ended <- server.Serve(listener) }()
		test(listener, registry)
		_ = server.Close()
		<-ended
	})
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusRequestTimeout)
		return
	}
	_, _ = w.Write(body)
}

// sendSlowly writes a text byte by byte with pauses, until it is complete or the
// other side has closed. It returns how long that took.
func sendSlowly(c net.Conn, text string, pause time.Duration) time.Duration {
	startedAt := time.Now()
	for i := range len(text) {
		if _, err := c.Write([]byte{text[i]}); err != nil {
			break
		}
		time.Sleep(pause)
	}
	return time.Since(startedAt)
}

func TestASlowHeadClosesTheConnection(t *testing.T) {
	t.Parallel()
	runTestServer(t, echo, func(listener *pipeListener, _ *prometheus.Registry) {
		conn := listener.dial()
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		if took := sendSlowly(conn, "GET / HTTP/1.1\r\nHost: quiz.example\r\nX-Slow: "+strings.Repeat("a", 4000), 100*time.Millisecond); took > headerTimeout+time.Second {
			t.Errorf("a head was read for %v", took)
		}
	})
}

func TestASlowBodyClosesTheConnection(t *testing.T) {
	t.Parallel()
	runTestServer(t, echo, func(listener *pipeListener, _ *prometheus.Registry) {
		conn := listener.dial()
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: quiz.example\r\nContent-Length: 4000\r\n\r\n")
		if took := sendSlowly(conn, strings.Repeat("a", 4000), 100*time.Millisecond); took > readTimeout+time.Second {
			t.Errorf("a body was read for %v", took)
		}
	})
}

func TestASilentConnectionIsClosed(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"from the start": "", "after a request": "GET / HTTP/1.1\r\nHost: quiz.example\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runTestServer(t, echo, func(listener *pipeListener, _ *prometheus.Registry) {
				conn := listener.dial()
				defer conn.Close()
				startedAt := time.Now()
				if first != "" {
					fmt.Fprint(conn, first)
				}
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Fatal(err)
				}
				if elapsed := time.Since(startedAt); elapsed > idleTimeout+time.Second {
					t.Errorf("the connection was kept for %v", elapsed)
				}
			})
		})
	}
}

func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	t.Parallel()
	var took time.Duration
	runTestServer(t, func(w http.ResponseWriter, _ *http.Request) {
		startedAt := time.Now()
		for range 1000 {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				break
			}
		}
		took = time.Since(startedAt)
	}, func(listener *pipeListener, _ *prometheus.Registry) {
		conn := listener.dial()
		defer conn.Close()
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: quiz.example\r\n\r\n")
		time.Sleep(2 * writeTimeout)
		synctest.Wait()
		if took < writeTimeout-time.Second || took > writeTimeout+time.Second {
			t.Errorf("the server wrote for %v to a client that does not read", took)
		}
	})
}

func TestURLsAndHeadersAreLimited(t *testing.T) {
	t.Parallel()
	var manyHeaders strings.Builder
	for i := range maxHeaders {
		fmt.Fprintf(&manyHeaders, "X-%d: a\r\n", i)
	}
	tests := map[string]struct {
		head   string
		status int
		detail string
		reason string // the reason label of the refusal; "": not counted
	}{
		"a normal request":          {"GET /a HTTP/1.1\r\nHost: q\r\n\r\n", 200, "", ""},
		"a query with 200 players":  {"GET /?players=" + strings.Repeat("p_1234567890123456789012345678901234567890123456789012345678901.", 200) + " HTTP/1.1\r\nHost: q\r\n\r\n", 200, "", ""},
		"a long URL":                {"GET /" + strings.Repeat("a", maxURLBytes) + " HTTP/1.1\r\nHost: q\r\n\r\n", 414, "ask for less", "url"},
		"many headers":              {"GET / HTTP/1.1\r\nHost: q\r\n" + manyHeaders.String() + "X-More: a\r\n\r\n", 431, "send fewer", "headers"},
		"the same header too often": {"GET / HTTP/1.1\r\nHost: q\r\n" + strings.Repeat("X-A: a\r\n", maxHeaders+1) + "\r\n", 431, "send fewer", "headers"},
		"large headers":             {"GET / HTTP/1.1\r\nHost: q\r\nX-A: " + strings.Repeat("a", maxHeaderBytes+4<<10) + "\r\n\r\n", 431, "", ""},
		"no host":                   {"GET / HTTP/1.1\r\n\r\n", 400, "", ""},
		"two hosts":                 {"GET / HTTP/1.1\r\nHost: q\r\nHost: r\r\n\r\n", 400, "", ""},
		"two lengths":               {"POST / HTTP/1.1\r\nHost: q\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", 400, "", ""},
		"a header of two lines":     {"GET / HTTP/1.1\r\nHost: q\r\nX-A: a\r\n b\r\nX B: c\r\n\r\n", 400, "", ""},
		"no HTTP":                   {"\x16\x03\x01\x02\x00\r\n\r\n", 400, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runTestServer(t, echo, func(listener *pipeListener, registry *prometheus.Registry) {
				conn := listener.dial()
				defer conn.Close()
				go func() { _, _ = io.WriteString(conn, tt.head) }()
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || response.StatusCode != tt.status || !strings.Contains(string(body), tt.detail) {
					t.Errorf("%s %s, %v; want %d with %q", response.Status, body, err, tt.status, tt.detail)
				}
				want := ""
				if tt.reason != "" {
					want = fmt.Sprintf("# HELP laststand_http_oversized_requests_total Requests refused because their URL or headers are too large, by listener and reason.\n"+
						"# TYPE laststand_http_oversized_requests_total counter\nlaststand_http_oversized_requests_total{listener=\"players\",reason=%q} 1\n", tt.reason)
				}
				checkCountedRefusals(t, registry, want)
			})
		})
	}
}

// checkCountedRefusals checks that only the wanted refusals are counted.
func checkCountedRefusals(t *testing.T, registry *prometheus.Registry, want string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() != "laststand_http_oversized_requests_total" || metric.GetCounter().GetValue() == 0 {
				continue
			}
			var reason string
			for _, label := range metric.GetLabel() {
				if label.GetName() == "reason" {
					reason = label.GetValue()
				}
			}
			if !strings.Contains(want, fmt.Sprintf("reason=%q} %v\n", reason, metric.GetCounter().GetValue())) {
				t.Errorf("refusals for %s: %v are counted", reason, metric.GetCounter().GetValue())
			}
			want = ""
		}
	}
	if want != "" {
		t.Errorf("the refusal is not counted: %s", want)
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	t.Parallel()
	runTestServer(t, echo, func(listener *pipeListener, _ *prometheus.Registry) {
		for _, path := range []string{"/", "/" + strings.Repeat("a", maxURLBytes)} {
			conn := listener.dial()
			go func() { fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: q\r\n\r\n", path) }()
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			_ = conn.Close()
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
				"Strict-Transport-Security": "", // sent only over TLS
			} {
				if got := answer.Header.Get(name); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		}
	})
}

// The server tells browsers to use TLS only if the client used TLS: to the server
// itself, or to a trusted proxy that says so.
func TestStrictTransportSecurityIsSentOnlyOverTLS(t *testing.T) {
	t.Parallel()
	saysTLS := func(r *http.Request) bool { return r.Header.Get("X-Forwarded-Proto") == "https" }
	for name, tt := range map[string]struct {
		isTLS func(*http.Request) bool
		proto string
		tls   *tls.ConnectionState
		want  string
	}{
		"TLS of the server": {nil, "", &tls.ConnectionState{}, hstsOneYear}, "no TLS": {nil, "", nil, ""}, "an untrusted header": {nil, "https", nil, ""},
		"TLS of a trusted proxy": {saysTLS, "https", nil, hstsOneYear}, "a trusted proxy without TLS": {saysTLS, "http", nil, ""},
	} {
		server := New(Config{Name: "players", Handler: http.HandlerFunc(echo), Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(), IsTLS: tt.isTLS})
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.TLS = tt.tls
		r.Header.Set("X-Forwarded-Proto", tt.proto)
		if server.Handler.ServeHTTP(w, r); w.Header().Get("Strict-Transport-Security") != tt.want {
			t.Errorf("%s: %q, want %q", name, w.Header().Get("Strict-Transport-Security"), tt.want)
		}
	}
}

// Connection errors of net/http are counted. Errors that clients cause are not
// logged.
func TestConnectionErrorsAreCountedWithoutTheirText(t *testing.T) {
	t.Parallel()
	var logBuffer bytes.Buffer
	registry := prometheus.NewRegistry()
	server := New(Config{Name: "players", Logger: slog.New(slog.NewTextHandler(&logBuffer, nil)), Registry: registry, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { panic("the token " + r.Header.Get("Authorization")) })})
	listener := newPipeListener()
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	conn := listener.dial()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: q\r\nAuthorization: Bearer s3cret\r\n\r\n")
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	<-ended
	server.ErrorLog.Print("http: TLS handshake error from 192.0.2.1:1: s3cret")
	server.ErrorLog.Print("http: Accept error: too many open files; retrying in 5ms")
	server.ErrorLog.Print("http: URL query contains s3cret")
	want := `
# HELP laststand_http_connection_errors_total Errors of HTTP connections, by listener and kind.
# TYPE laststand_http_connection_errors_total counter
laststand_http_connection_errors_total{kind="accept",listener="players"} 1
laststand_http_connection_errors_total{kind="other",listener="players"} 1
laststand_http_connection_errors_total{kind="panic",listener="players"} 1
laststand_http_connection_errors_total{kind="tls_handshake",listener="players"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "laststand_http_connection_errors_total"); err != nil {
		t.Error(err)
	}
	log := logBuffer.String()
	if strings.Contains(log, "s3cret") || strings.Count(log, "level=ERROR") != 2 || !strings.Contains(log, "server_test.go") {
		t.Errorf("the log is %s", log)
	}
}
