package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// A node with a certificate serves HTTPS, also over HTTP/2, and websockets over TLS. It asks
// browsers to keep using TLS. It refuses websockets of other origins, also of its own host
// without TLS.
func TestANodeWithACertificateServesHTTPSAndHTTP2(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	roots := x509.NewCertPool()
	roots.AddCert(testenv.WriteCertificate(t, cert, key, 1, time.Hour))
	node := startNode(t, cli.Flags{Data: ptr(t.TempDir()), Config: configFile(t, fastDuelsConfig), TLSCert: &cert, TLSKey: &key})
	host, ok := strings.CutPrefix(node.url, "https://")
	if !ok {
		t.Fatalf("the node listens on %s, want https", node.url)
	}
	tlsConfig := &tls.Config{RootCAs: roots}
	transport := &http.Transport{TLSClientConfig: tlsConfig.Clone(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Get(node.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("the page: %s %s, %v", answer.Proto, answer.Status, err)
	}
	checkSecurityHeaders(t, answer.Header, "max-age=31536000")

	for origin, want := range map[string]int{node.url: http.StatusSwitchingProtocols, "http://" + host: http.StatusForbidden, "null": http.StatusForbidden} {
		dialer := websocket.Dialer{TLSClientConfig: tlsConfig.Clone(), Subprotocols: []string{protocol.Subprotocol}, HandshakeTimeout: 10 * time.Second}
		conn, answer, err := dialer.Dial("wss://"+host+"/v1/ws", http.Header{"Origin": {origin}}) //nolint:bodyclose // it has none
		if answer == nil || answer.StatusCode != want {
			t.Errorf("a websocket of a page of %s: %v, %v", origin, answer, err)
		}
		if err == nil {
			sendUnknownToken(t, conn)
		}
	}
	if response, err := http.Get("http://" + host + "/healthz"); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("HTTP without TLS: %v, %v", response, err)
	} else {
		_ = response.Body.Close()
	}
	if !strings.Contains(metrics(t, node.opsURL), "laststand_tls_certificate_expiry_timestamp_seconds ") {
		t.Error("the metrics do not show when the certificate expires")
	}
}

// sendUnknownToken sends a hello with an unknown token. The server answers it and closes with 4401.
func sendUnknownToken(t *testing.T, conn *websocket.Conn) {
	t.Helper()
	defer conn.Close()
	testenv.NoError(t, conn.WriteMessage(websocket.TextMessage, []byte(`{"id":1,"type":"hello","data":{"token":"none"}}`)))
	if _, text, err := conn.ReadMessage(); !websocket.IsCloseError(err, protocol.CloseUnauthorized) {
		t.Errorf("over TLS a hello with an unknown token is answered with %s, %v", text, err)
	}
}

// checkSecurityHeaders checks that the page has all its security headers.
func checkSecurityHeaders(t *testing.T, headers http.Header, wantTransport string) {
	t.Helper()
	for name, want := range map[string]string{
		"Strict-Transport-Security": wantTransport, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := headers.Values(name); strings.Join(got, "|") != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"Content-Security-Policy", "Permissions-Policy"} {
		if len(headers.Values(name)) != 1 {
			t.Errorf("%s is %q", name, headers.Values(name))
		}
	}
}

func TestInvalidCertificatesAreReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testenv.WriteCertificate(t, cert, key, 1, -time.Minute)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no key":                      {[]string{"--tls-cert=" + cert}, "tls_key: tls_cert is set, so tls_key is required too"},
		"no certificate":              {[]string{"--tls-key=" + key}, "tls_cert: tls_key is set, so tls_cert is required too"},
		"no files":                    {[]string{"--tls-cert=" + dir + "/none", "--tls-key=" + key}, dir + "/none"},
		"an expired certificate":      {[]string{"--tls-cert=" + cert, "--tls-key=" + key}, "expired"},
		"certificate and key swapped": {[]string{"--tls-cert=" + key, "--tls-key=" + cert}, "are not a certificate and its key"},
		"in the configuration file":   {[]string{"--config=" + configFile(t, "tls_cert: x.pem")}, "tls_key: tls_cert is set, so tls_key is required too"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkContains(t, runFailingStart(t, append(tt.args, "--data="+t.TempDir())...), tt.want)
		})
	}
}

// The server logs a warning if other machines can reach the operations address.
func TestAnExposedOperationsAddressIsLogged(t *testing.T) {
	t.Parallel()
	for address, wantWarning := range map[string]bool{"127.0.0.1:1": false, "[::1]:1": false, "0.0.0.0:1": true, "[::]:1": true, "192.0.2.1:1": true} {
		var log bytes.Buffer
		warnOfExposedOperations(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)), slog.New(slog.NewTextHandler(&log, nil)))
		if got := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "private network"); got != wantWarning {
			t.Errorf("%s: %s", address, &log)
		}
	}
}
