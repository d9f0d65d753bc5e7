package httpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// testServer is an HTTP server behind a Listener. Its response to each request is the
// client's address.
type testServer struct {
	*testing.T
	*Listener
	addr string

	mu      sync.Mutex
	refused []string
	dryRun  bool
}

func startTestServer(t *testing.T, config ListenerConfig, trusted ...string) *testServer {
	t.Helper()
	var err error
	if config.Trusted, err = ParseTrustedProxies(trusted); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &testServer{T: t, addr: listener.Addr().String()}
	config.OnRefusal, config.HeaderTimeout = server.recordRefusal, cmp.Or(config.HeaderTimeout, 5*time.Second)
	server.Listener = NewListener(listener, config)
	httpServer := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, config.Trusted.ClientAddress(r))
	}), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- httpServer.Serve(server.Listener) }()
	t.Cleanup(func() {
		_ = httpServer.Close()
		<-served
		if len(server.open) != 0 {
			t.Errorf("connections are left, by address: %v", server.open)
		}
	})
	return server
}

func (s *testServer) recordRefusal(rule string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, rule)
	return !s.dryRun
}

// expectRefusals waits for refusals and compares them.
func (s *testServer) expectRefusals(want ...string) {
	s.Helper()
	var got []string
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && len(got) < len(want); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		got = slices.Clone(s.refused)
		s.mu.Unlock()
	}
	if !slices.Equal(got, want) {
		s.Errorf("refused by %v, want %v", got, want)
	}
}

func (s *testServer) waitForOpen(want int64) {
	s.Helper()
	for until := time.Now().Add(10 * time.Second); s.OpenConnections() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			s.Fatalf("%d connections, want %d", s.OpenConnections(), want)
		}
	}
}

func (s *testServer) dial(address string) net.Conn {
	s.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := dialer.Dial("tcp", s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

// request sends a header and a request, and returns the body, or the error as text.
func request(conn net.Conn, header string) string {
	_, _ = io.WriteString(conn, header+"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "closed"
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

// headerV2 returns a header of version 2.
func headerV2(command, family byte, rest string) string {
	return "\r\n\r\n\x00\r\nQUIT\n" + string([]byte{command, family, byte(len(rest) >> 8), byte(len(rest))}) + rest
}

const (
	headerV1    = "PROXY TCP4 198.51.100.1 127.0.0.1 4444 80\r\n"
	addressesV2 = "\xc6\x33\x64\x02\x7f\x00\x00\x01\x11\x5c\x00\x50" // 198.51.100.2:4444 to 127.0.0.1:80
)

// The client address depends on the protocol, the peer and the header.
func TestTheClientAddressDependsOnTheHeader(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ from, header, off, optional, required string }{
		"version 1":                      {"127.0.0.2", headerV1, "400", "200 198.51.100.1", "200 198.51.100.1"},
		"version 2":                      {"127.0.0.2", headerV2(0x21, 0x11, addressesV2), "400", "200 198.51.100.2", "200 198.51.100.2"},
		"version 2 with extensions":      {"127.0.0.2", headerV2(0x21, 0x11, addressesV2+"\x04\x00\x02ab"), "400", "200 198.51.100.2", "200 198.51.100.2"},
		"version 1 with IPv6":            {"127.0.0.2", "PROXY TCP6 2a00::1 ::1 4444 80\r\n", "400", "200 2a00::1", "200 2a00::1"},
		"version 1 without addresses":    {"127.0.0.2", "PROXY UNKNOWN\r\n", "400", "200 127.0.0.2", "200 127.0.0.2"},
		"a health check":                 {"127.0.0.2", headerV2(0x20, 0x00, ""), "400", "200 127.0.0.2", "200 127.0.0.2"},
		"a health check with an address": {"127.0.0.2", headerV2(0x20, 0x11, addressesV2), "400", "200 127.0.0.2", "200 127.0.0.2"},
		"no header":                      {"127.0.0.2", "", "200 127.0.0.2", "200 127.0.0.2", "closed"},
		"a header of an untrusted peer":  {"127.0.0.3", headerV1, "400", "400", "closed"},
		"an untrusted peer":              {"127.0.0.3", "", "200 127.0.0.3", "200 127.0.0.3", "closed"},
		"an invalid address":             {"127.0.0.2", "PROXY TCP4 198.51.100.256 127.0.0.1 4444 80\r\n", "400", "closed", "closed"},
		"an invalid port":                {"127.0.0.2", "PROXY TCP4 198.51.100.1 127.0.0.1 44444444 80\r\n", "400", "closed", "closed"},
		"version 1, too long":            {"127.0.0.2", "PROXY TCP4 " + strings.Repeat("1", 200) + "\r\n", "400", "closed", "closed"},
		"an unknown command":             {"127.0.0.2", headerV2(0x2f, 0x11, addressesV2), "400", "closed", "closed"},
		"version 2, too short":           {"127.0.0.2", headerV2(0x21, 0x11, addressesV2[:5]), "400", "closed", "closed"},
	}
	for _, protocol := range []ProxyProtocol{ProxyOff, ProxyOptional, ProxyRequired} {
		server := startTestServer(t, ListenerConfig{Protocol: protocol}, "127.0.0.2")
		for name, test := range tests {
			want := map[ProxyProtocol]string{ProxyOff: test.off, ProxyOptional: test.optional, ProxyRequired: test.required}[protocol]
			if got := request(server.dial(test.from), test.header); !strings.HasPrefix(got, want) {
				t.Errorf("%s, %s: %q, want %q", protocol, name, got, want)
			}
		}
	}
}

// Each refusal is reported. A connection that ends without data is not a wrong
// header.
func TestEachRefusedHeaderIsReported(t *testing.T) {
	t.Parallel()
	server := startTestServer(t, ListenerConfig{Protocol: ProxyRequired}, "127.0.0.2")
	_ = server.dial("127.0.0.2").Close()
	server.waitForOpen(0)
	request(server.dial("127.0.0.2"), "PROXY nonsense\r\n")
	request(server.dial("127.0.0.3"), headerV1)
	server.expectRefusals(RuleHeader, RuleStranger)
}

// The listener waits for a header for a limited time, and a slow header delays no other
// connection.
func TestASlowHeaderDelaysNoOtherConnection(t *testing.T) {
	t.Parallel()
	server := startTestServer(t, ListenerConfig{Protocol: ProxyOptional, HeaderTimeout: 100 * time.Millisecond}, "127.0.0.2")
	slow := server.dial("127.0.0.2")
	if got := request(server.dial("127.0.0.2"), headerV1); got != "200 198.51.100.1" {
		t.Errorf("during a slow header: %q", got)
	}
	if _, err := io.WriteString(slow, "PRO"); err != nil {
		t.Error(err)
	}
	if n, err := slow.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes", n)
	}
	server.expectRefusals(RuleHeader)
}

// The number of connections is limited, including those that send nothing. When
// one ends, another is accepted.
func TestTheNumberOfConnectionsIsLimited(t *testing.T) {
	t.Parallel()
	server := startTestServer(t, ListenerConfig{Protocol: ProxyOff, MaxConnections: 2})
	first, second := server.dial("127.0.0.1"), server.dial("127.0.0.2")
	server.waitForOpen(2)
	if got := request(server.dial("127.0.0.3"), ""); got != "closed" {
		t.Errorf("the third: %q", got)
	}
	if got := request(second, ""); got != "200 127.0.0.2" {
		t.Errorf("the second: %q", got)
	}
	_ = first.Close()
	server.waitForOpen(1)
	if got := request(server.dial("127.0.0.3"), ""); got != "200 127.0.0.3" {
		t.Errorf("after the first has closed: %q", got)
	}
	server.expectRefusals(RuleTotal)
}

// The connections of one address are limited, without an effect on others. A trusted
// proxy has no such limit; its clients are counted by their own addresses.
func TestTheConnectionsPerAddressAreLimited(t *testing.T) {
	t.Parallel()
	server := startTestServer(t, ListenerConfig{Protocol: ProxyOptional, MaxPerAddress: 2}, "127.0.0.9")
	countAccepted := func(from, header string) (accepted int) {
		for range 4 {
			if strings.HasPrefix(request(server.dial(from), header), "200") {
				accepted++
			}
		}
		return accepted
	}
	for name, test := range map[string]struct {
		from, header string
		want         int
	}{
		"a client":                               {"127.0.0.1", "", 2},
		"another client":                         {"127.0.0.2", "", 2},
		"the proxy itself":                       {"127.0.0.9", "", 4},
		"a client behind the proxy":              {"127.0.0.9", headerV1, 2},
		"another client behind the proxy":        {"127.0.0.9", headerV2(0x21, 0x11, addressesV2), 2},
		"health checks of the proxy":             {"127.0.0.9", headerV2(0x20, 0x00, ""), 4},
		"a header with the address of the proxy": {"127.0.0.9", "PROXY TCP4 127.0.0.9 127.0.0.1 4444 80\r\n", 4},
	} {
		if got := countAccepted(test.from, test.header); got != test.want {
			t.Errorf("%s: %d connections, want %d", name, got, test.want)
		}
	}
	accepted := 0
	for i := range 4 { // addresses of one /64 network
		if strings.HasPrefix(request(server.dial("127.0.0.9"), fmt.Sprintf("PROXY TCP6 2a00:1:2:3::%d ::1 4444 80\r\n", i+1)), "200") {
			accepted++
		}
	}
	if accepted != 2 {
		t.Errorf("of an IPv6 network: %d connections, want 2", accepted)
	}
}

// In dry run the Listener calls OnRefusal but accepts the connections.
func TestDryRunAcceptsAllConnections(t *testing.T) {
	t.Parallel()
	server := startTestServer(t, ListenerConfig{Protocol: ProxyOff, MaxConnections: 2, MaxPerAddress: 1})
	server.mu.Lock()
	server.dryRun = true
	server.mu.Unlock()
	for range 3 {
		if got := request(server.dial("127.0.0.1"), ""); got != "200 127.0.0.1" {
			t.Error(got)
		}
	}
	server.expectRefusals(RulePerAddress, RuleTotal, RulePerAddress)
}

// The test runs a real proxy in front of the server. It appends to X-Forwarded-For.
func TestTheClientAddressBehindARealProxy(t *testing.T) {
	t.Parallel()
	server := startTestServer(t, ListenerConfig{Protocol: ProxyOff}, "127.0.0.1")
	target, err := url.Parse("http://" + server.addr)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	proxy := &http.Server{Handler: &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
		r.SetXForwarded()
	}}, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(listener) }()
	defer func() {
		transport.CloseIdleConnections()
		_ = proxy.Close()
		<-served
	}()
	behindProxy := &testServer{T: t, addr: listener.Addr().String()}
	conn := behindProxy.dial("127.0.0.5")
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9\r\nConnection: close\r\n\r\n")
	raw, err := io.ReadAll(conn)
	if err != nil || !bytes.HasSuffix(raw, []byte("127.0.0.5")) {
		t.Errorf("%q, %v", raw, err)
	}
}

// FuzzProxyHeader checks that any first bytes of a proxy give its own address, an address in the header,
// or an error, and never a panic.
func FuzzProxyHeader(f *testing.F) {
	f.Add([]byte(headerV1 + "GET"))
	f.Add([]byte(headerV2(0x21, 0x11, addressesV2)))
	f.Add([]byte(headerV2(0x20, 0x00, "")))
	f.Add([]byte(headerV2(0x21, 0x31, strings.Repeat("a", 216))))
	trusted, err := ParseTrustedProxies([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		listener := NewListener(nil, ListenerConfig{Trusted: trusted, Protocol: ProxyOptional, HeaderTimeout: time.Second, OnRefusal: func(string) bool { return true }})
		serverEnd, clientEnd := net.Pipe()
		conn := &proxiedConn{countedConn: &countedConn{Conn: serverEnd, listener: listener}}
		listener.count(conn.countedConn, allAddresses, 0, RuleTotal)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = clientEnd.Write(input)
			_ = clientEnd.Close()
		}()
		if from := conn.RemoteAddr(); from == nil || from.String() == "" {
			t.Errorf("from %v", from)
		}
		rest, err := io.ReadAll(conn)
		if err == nil && !bytes.HasSuffix(input, rest) {
			t.Errorf("%q became %q", input, rest)
		}
		_ = conn.Close()
		<-done
		if len(listener.open) != 0 {
			t.Errorf("connections are left, by address: %v", listener.open)
		}
	})
}
