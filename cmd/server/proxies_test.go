package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// A node counts websockets by the addresses that its trusted proxies give, in a header of the
// request or of the connection. It ignores addresses from any other client.
func TestNodeReadsTheAddressFromTrustedProxies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, "trusted_proxies: [127.0.0.2]\nproxy_protocol: optional\nlimits: {connections_per_address: 1}\n")})
	for _, visit := range []struct {
		name, from, forwarded, proxyHeader string
		wantCode                           int // the close code; 0: the websocket stays open
	}{
		{"a direct client", "127.0.0.1", "", "", 0},
		{"a second websocket of it", "127.0.0.1", "", "", protocol.CloseOverloaded},
		{"a forged X-Forwarded-For", "127.0.0.1", "198.51.100.9", "", protocol.CloseOverloaded},
		{"a client behind the proxy", "127.0.0.2", "198.51.100.1", "", 0},
		{"the same client behind the proxy", "127.0.0.2", "203.0.113.1, 198.51.100.1", "", protocol.CloseOverloaded},
		{"another client behind the proxy", "127.0.0.2", "198.51.100.2", "", 0},
		{"a client in a PROXY header", "127.0.0.2", "", "PROXY TCP4 198.51.100.3 127.0.0.1 4444 80\r\n", 0},
		{"the same client in a second PROXY header", "127.0.0.2", "", "PROXY TCP4 198.51.100.3 127.0.0.1 4445 80\r\n", protocol.CloseOverloaded},
		{"the same client in X-Forwarded-For", "127.0.0.2", "198.51.100.3", "", protocol.CloseOverloaded},
	} {
		if got := openWebsocketFrom(t, node.url, visit.from, visit.forwarded, visit.proxyHeader); got != visit.wantCode {
			t.Errorf("%s: closed %d, want %d", visit.name, got, visit.wantCode)
		}
	}
	if !strings.Contains(node.log.String(), "untrusted address") {
		t.Errorf("the forged header is not logged:\n%s", node.log)
	}
	if refused := sumMetric(t, node.opsURL, "laststand_limit_refusals_total", `rule="websockets_per_address"`); refused != 5 {
		t.Errorf("%d refusals are counted, want 5", refused)
	}
	if untrusted := sumMetric(t, node.opsURL, "laststand_untrusted_forwarded_headers_total"); untrusted != 1 {
		t.Errorf("%d untrusted headers are counted, want 1", untrusted)
	}
}

// openWebsocketFrom opens a websocket, which stays open until the test ends. It returns the code if the
// node closes the websocket immediately, else 0.
func openWebsocketFrom(t *testing.T, url, from, forwarded, proxyHeader string) int {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, NetDial: func(network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial(network, addr)
		if err == nil {
			_, err = io.WriteString(c, proxyHeader)
		}
		return c, err
	}}
	headers := http.Header{}
	if forwarded != "" {
		headers.Set("X-Forwarded-For", forwarded)
	}
	conn, answer, err := dialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/v1/ws", headers)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	t.Cleanup(func() { _ = conn.Close() })
	answered := errors.New("a pong")
	conn.SetPongHandler(func(string) error { return answered })
	testenv.NoError(t, conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(10*time.Second)))
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _, err = conn.ReadMessage()
	closed, ok := errors.AsType[*websocket.CloseError](err)
	switch {
	case ok:
		return closed.Code
	case !errors.Is(err, answered):
		t.Errorf("neither a pong nor a close: %v", err)
	}
	return 0
}
