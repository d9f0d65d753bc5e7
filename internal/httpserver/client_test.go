package httpserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestRedirectsAreReturnedAndNotFollowed(t *testing.T) {
	t.Parallel()
	target, calls := newCountingListener(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target.URL, status) })
		got, err := getStatus(t, ClientOptions{AllowPrivate: true}, server.URL)
		if err != nil || got != status {
			t.Errorf("%d: answered %d, %v", status, got, err)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("followed %d times", n)
	}
}

func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	proxy, calls := newCountingListener(t)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	if transport := newTransport(ClientOptions{}); transport.Proxy != nil {
		t.Error("there is a proxy")
	}
	if _, err := getStatus(t, ClientOptions{Resolver: newFakeDNS("127.0.0.1").resolver(t)}, "http://receiver.test./"); err == nil {
		t.Error("a blocked address was reached")
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the proxy was asked %d times", n)
	}
}

func TestTheResponseHeadersAreLimited(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("A", strings.Repeat("a", 128<<10))
	})
	if status, err := getStatus(t, ClientOptions{AllowPrivate: true}, server.URL); err == nil {
		t.Errorf("answered %d", status)
	}
}

// The connections to a slow receiver are limited, and an idle connection is used again.
func TestConnectionsPerHostAreLimited(t *testing.T) {
	t.Parallel()
	var active atomic.Int64
	var tooMany atomic.Bool
	addresses := make(chan string, 40)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		addresses <- r.RemoteAddr
		if active.Add(1) > 2 {
			tooMany.Store(true)
		}
		active.Add(-1)
	})
	client := NewClient(ClientOptions{AllowPrivate: true, maxConnsPerHost: 2})
	t.Cleanup(client.CloseIdleConnections)
	var calls sync.WaitGroup
	for range cap(addresses) {
		calls.Go(func() {
			reply, err := client.Get(server.URL)
			if err != nil {
				t.Error(err)
				return
			}
			reply.Body.Close()
		})
	}
	calls.Wait()
	close(addresses)
	used := map[string]bool{}
	for address := range addresses {
		used[address] = true
	}
	if tooMany.Load() || len(used) > 2 {
		t.Errorf("%d connections, more than 2 concurrent calls: %t", len(used), tooMany.Load())
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	for version, isAccepted := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		server.StartTLS()
		t.Cleanup(server.Close)
		client := newTrustingClient(t, server)
		reply, err := client.Get(server.URL)
		if err == nil {
			reply.Body.Close()
		}
		if (err == nil) != isAccepted {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
	}
}

func TestUnknownCertificateIsRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	_, err := getStatus(t, ClientOptions{AllowPrivate: true}, server.URL)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("answered with %v", err)
	}
}

// Every phase has a timeout; the context can end any of them earlier.
func TestEachPhaseHasATimeout(t *testing.T) {
	t.Parallel()
	client := NewClient(ClientOptions{})
	transport := client.Transport.(*http.Transport)
	for name, bound := range map[string]time.Duration{
		"TLS": transport.TLSHandshakeTimeout, "headers": transport.ResponseHeaderTimeout, "all": client.Timeout,
	} {
		if bound <= 0 || bound > 30*time.Second {
			t.Errorf("%s: %s", name, bound)
		}
	}
	if idle := transport.IdleConnTimeout; idle <= 0 || idle >= 120*time.Second {
		t.Errorf("idle: %s", idle)
	}
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client = NewClient(ClientOptions{AllowPrivate: true})
	t.Cleanup(client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := client.Do(request)
	if err == nil {
		reply.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("answered with %v", err)
	}
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// newTrustingClient returns a client that trusts the server's certificate.
func newTrustingClient(t *testing.T, server *httptest.Server) *http.Client {
	t.Helper()
	client := NewClient(ClientOptions{AllowPrivate: true})
	t.Cleanup(client.CloseIdleConnections)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client.Transport.(*http.Transport).TLSClientConfig.RootCAs = roots
	return client
}
