package proxies

import (
	"bufio"
	"bytes"
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
type house struct {
	*testing.T
	*Door
	addr string

	mu      sync.Mutex
	refused []string
	trial   bool
}

func build(t *testing.T, c Config, trusted ...string) *house {
	t.Helper()
	var err error
	if c.Trusted, err = Trust(trusted); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{T: t, addr: l.Addr().String()}
	c.Refuse = h.refuse
	h.Door = New(l, c)
	site := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, c.Trusted.Client(r))
	}), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- site.Serve(h.Door) }()
	t.Cleanup(func() {
		_ = site.Close()
		<-served
		if h.Open() != 0 || len(h.each) != 0 {
			t.Errorf("%d connections are left, by address %v", h.Open(), h.each)
		}
	})
	return h
}

func (h *house) refuse(rule string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = append(h.refused, rule)
	return !h.trial
}

// refusals waits for refusals and compares them.
func (h *house) refusals(want ...string) {
	h.Helper()
	var got []string
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && len(got) < len(want); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		got = slices.Clone(h.refused)
		h.mu.Unlock()
	}
	if !slices.Equal(got, want) {
		h.Errorf("refused by %v, want %v", got, want)
	}
}

func (h *house) opens(want int64) {
	h.Helper()
	for until := time.Now().Add(10 * time.Second); h.Open() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			h.Fatalf("%d connections, want %d", h.Open(), want)
		}
	}
}

func (h *house) dial(from string) net.Conn {
	h.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", h.addr)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

// ask sends a header and a request, and returns the body, or the error as text.
func ask(c net.Conn, header string) string {
	_, _ = io.WriteString(c, header+"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "closed"
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return fmt.Sprint(answer.StatusCode, " ", string(body))
}

// version2 returns a header of version 2.
func version2(command, family byte, rest string) string {
	return "\r\n\r\n\x00\r\nQUIT\n" + string([]byte{command, family, byte(len(rest) >> 8), byte(len(rest))}) + rest
}

const (
	someone  = "PROXY TCP4 198.51.100.1 127.0.0.1 4444 80\r\n"
	someone2 = "\xc6\x33\x64\x02\x7f\x00\x00\x01\x11\x5c\x00\x50" // 198.51.100.2:4444 to 127.0.0.1:80
)

// The client address depends on the protocol, the peer and the header.
func TestProtocol(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ from, header, off, optional, required string }{
		"version 1":           {"127.0.0.2", someone, "400", "200 198.51.100.1", "200 198.51.100.1"},
		"version 2":           {"127.0.0.2", version2(0x21, 0x11, someone2), "400", "200 198.51.100.2", "200 198.51.100.2"},
		"with more in it":     {"127.0.0.2", version2(0x21, 0x11, someone2+"\x04\x00\x02ab"), "400", "200 198.51.100.2", "200 198.51.100.2"},
		"IPv6":                {"127.0.0.2", "PROXY TCP6 2a00::1 ::1 4444 80\r\n", "400", "200 2a00::1", "200 2a00::1"},
		"unknown":             {"127.0.0.2", "PROXY UNKNOWN\r\n", "400", "200 127.0.0.2", "200 127.0.0.2"},
		"a health check":      {"127.0.0.2", version2(0x20, 0x00, ""), "400", "200 127.0.0.2", "200 127.0.0.2"},
		"one with an address": {"127.0.0.2", version2(0x20, 0x11, someone2), "400", "200 127.0.0.2", "200 127.0.0.2"},
		"none":                {"127.0.0.2", "", "200 127.0.0.2", "200 127.0.0.2", "closed"},
		"a stranger's":        {"127.0.0.3", someone, "400", "400", "closed"},
		"a stranger":          {"127.0.0.3", "", "200 127.0.0.3", "200 127.0.0.3", "closed"},
		"no address":          {"127.0.0.2", "PROXY TCP4 198.51.100.256 127.0.0.1 4444 80\r\n", "400", "closed", "closed"},
		"no port":             {"127.0.0.2", "PROXY TCP4 198.51.100.1 127.0.0.1 44444444 80\r\n", "400", "closed", "closed"},
		"too long":            {"127.0.0.2", "PROXY TCP4 " + strings.Repeat("1", 200) + "\r\n", "400", "closed", "closed"},
		"no command":          {"127.0.0.2", version2(0x2f, 0x11, someone2), "400", "closed", "closed"},
		"too short":           {"127.0.0.2", version2(0x21, 0x11, someone2[:5]), "400", "closed", "closed"},
	}
	for _, protocol := range []Protocol{Off, Optional, Required} {
		h := build(t, Config{Protocol: protocol}, "127.0.0.2")
		for name, test := range tests {
			want := map[Protocol]string{Off: test.off, Optional: test.optional, Required: test.required}[protocol]
			if got := ask(h.dial(test.from), test.header); !strings.HasPrefix(got, want) {
				t.Errorf("%s, %s: %q, want %q", protocol, name, got, want)
			}
		}
	}
	if err := Protocol("sometimes").Validate(); err == nil || Required.Validate() != nil {
		t.Error(err)
	}
}

// Each refusal is reported. A connection that ends without data is not a wrong
// header.
func TestHeaderRefused(t *testing.T) {
	t.Parallel()
	h := build(t, Config{Protocol: Required}, "127.0.0.2")
	_ = h.dial("127.0.0.2").Close()
	h.opens(0)
	ask(h.dial("127.0.0.2"), "PROXY nonsense\r\n")
	ask(h.dial("127.0.0.3"), someone)
	h.refusals(RuleHeader, RuleStranger)
}

// The listener waits for a header for a limited time, and a slow header delays no other
// connection.
func TestHeaderInTime(t *testing.T) {
	t.Parallel()
	h := build(t, Config{Protocol: Optional, Within: 100 * time.Millisecond}, "127.0.0.2")
	silent := h.dial("127.0.0.2")
	if got := ask(h.dial("127.0.0.2"), someone); got != "200 198.51.100.1" {
		t.Errorf("beside a silent one: %q", got)
	}
	if _, err := io.WriteString(silent, "PRO"); err != nil {
		t.Error(err)
	}
	if n, err := silent.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes", n)
	}
	h.refusals(RuleHeader)
}

// The number of connections is limited, including those that send nothing. When
// one ends, another is accepted.
func TestFull(t *testing.T) {
	t.Parallel()
	h := build(t, Config{Protocol: Off, Most: 2})
	first, second := h.dial("127.0.0.1"), h.dial("127.0.0.2")
	h.opens(2)
	if got := ask(h.dial("127.0.0.3"), ""); got != "closed" {
		t.Errorf("the third: %q", got)
	}
	if got := ask(second, ""); got != "200 127.0.0.2" {
		t.Errorf("the second: %q", got)
	}
	_ = first.Close()
	h.opens(1)
	if got := ask(h.dial("127.0.0.3"), ""); got != "200 127.0.0.3" {
		t.Errorf("in its place: %q", got)
	}
	h.refusals(RuleFull)
}

// The connections of one address are limited, without harm to others. A trusted
// proxy has no such limit; its clients are counted by their own addresses.
func TestTooManyPerAddress(t *testing.T) {
	t.Parallel()
	h := build(t, Config{Protocol: Optional, MostEach: 2}, "127.0.0.9")
	alike := func(from, header string) (in int) {
		for range 4 {
			if strings.HasPrefix(ask(h.dial(from), header), "200") {
				in++
			}
		}
		return in
	}
	for name, test := range map[string]struct {
		from, header string
		want         int
	}{
		"an address":       {"127.0.0.1", "", 2},
		"another":          {"127.0.0.2", "", 2},
		"a proxy":          {"127.0.0.9", "", 4},
		"whom it brings":   {"127.0.0.9", someone, 2},
		"somebody else":    {"127.0.0.9", version2(0x21, 0x11, someone2), 2},
		"its own checks":   {"127.0.0.9", version2(0x20, 0x00, ""), 4},
		"of another proxy": {"127.0.0.9", "PROXY TCP4 127.0.0.9 127.0.0.1 4444 80\r\n", 4},
	} {
		if got := alike(test.from, test.header); got != test.want {
			t.Errorf("%s: %d connections, want %d", name, got, test.want)
		}
	}
	in := 0
	for i := range 4 { // of one customer's network
		if strings.HasPrefix(ask(h.dial("127.0.0.9"), fmt.Sprintf("PROXY TCP6 2a00:1:2:3::%d ::1 4444 80\r\n", i+1)), "200") {
			in++
		}
	}
	if in != 2 {
		t.Errorf("of an IPv6 network: %d connections, want 2", in)
	}
}

// In dry run the Listener calls OnRefusal but accepts the connections.
func TestDryRun(t *testing.T) {
	t.Parallel()
	h := build(t, Config{Protocol: Off, Most: 2, MostEach: 1})
	h.mu.Lock()
	h.trial = true
	h.mu.Unlock()
	for range 3 {
		if got := ask(h.dial("127.0.0.1"), ""); got != "200 127.0.0.1" {
			t.Error(got)
		}
	}
	h.refusals(RuleCrowded, RuleFull, RuleCrowded)
}

// A real proxy is in front, and appends to the header that it got.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	h := build(t, Config{Protocol: Off}, "127.0.0.1")
	to, err := url.Parse("http://" + h.addr)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	proxy := &http.Server{Handler: &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
		r.SetXForwarded()
	}}, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- proxy.Serve(l) }()
	defer func() {
		transport.CloseIdleConnections()
		_ = proxy.Close()
		<-served
	}()
	behind := &house{T: t, addr: l.Addr().String()}
	c := behind.dial("127.0.0.5")
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 9.9.9.9\r\nConnection: close\r\n\r\n")
	raw, err := io.ReadAll(c)
	if err != nil || !bytes.HasSuffix(raw, []byte("127.0.0.5")) {
		t.Errorf("%q, %v", raw, err)
	}
}

// Whatever a proxy sends first, the result is its own address, an address that it
// names, or an error, but no panic.
func FuzzHeader(f *testing.F) {
	f.Add([]byte(someone + "GET"))
	f.Add([]byte(version2(0x21, 0x11, someone2)))
	f.Add([]byte(version2(0x20, 0x00, "")))
	f.Add([]byte(version2(0x21, 0x31, strings.Repeat("a", 216))))
	trusted, err := Trust([]string{"10.0.0.0/8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		d := New(nil, Config{Trusted: trusted, Protocol: Optional})
		ours, theirs := net.Pipe()
		p := &proxied{conn: &conn{Conn: ours, door: d}}
		d.enter(p.conn)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = theirs.Write(sent)
			_ = theirs.Close()
		}()
		if from := p.RemoteAddr(); from == nil || from.String() == "" {
			t.Errorf("from %v", from)
		}
		rest, err := io.ReadAll(p)
		if err == nil && !bytes.HasSuffix(sent, rest) {
			t.Errorf("%q became %q", sent, rest)
		}
		_ = p.Close()
		<-done
		if d.Open() != 0 || len(d.each) != 0 {
			t.Errorf("%d connections are left, by address %v", d.Open(), d.each)
		}
	})
}

// BenchmarkAdmit measures the cost of the Listener per connection.
func BenchmarkAdmit(b *testing.B) {
	d := New(nil, Config{Protocol: Off, Most: 1 << 20, MostEach: 1 << 10})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := d.admit(visitor{from: net.TCPAddr{IP: []byte{10, byte(i >> 16), byte(i >> 8), byte(i)}}})
		if c == nil {
			b.Fatal("refused")
		}
		_ = c.Close()
	}
}

// visitor is a connection with only an address and a Close.
type visitor struct {
	net.Conn
	from net.TCPAddr
}

func (v visitor) RemoteAddr() net.Addr { return &v.from }
func (v visitor) Close() error         { return nil }
