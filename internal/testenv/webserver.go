package testenv

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Serve serves a handler for a test and returns its URL. The server closes all
// client connections when the test ends.
func Serve(t testing.TB, handler http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// ServeUntrustedTLS serves TLS with a certificate that no client trusts, and returns its URL.
// Its handler answers every request with 404.
func ServeUntrustedTLS(t testing.TB, config *tls.Config) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// RefusingURL returns a URL on whose port no server listens, so that it refuses
// connections.
func RefusingURL(t testing.TB) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// FailingResolver is a DNS resolver that fails for every name.
var FailingResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	_ = theirs.Close()
	return ours, nil
}}

// NeverRespond is a handler that sends no response until the client closes the connection.
func NeverRespond(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// CloseConnection is a handler that closes the connection without a response.
func CloseConnection(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

// RespondInvalid is a handler that sends the URL of the request instead of a valid HTTP response.
func RespondInvalid(w http.ResponseWriter, r *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_, _ = io.WriteString(connection, r.URL.String()+"\r\n\r\n")
		_ = connection.Close()
	}
}
