package httphook

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/hooks"
	"laststand/internal/outbound"
)

func TestTryWithoutAnswer(t *testing.T) {
	t.Parallel()
	own := outbound.Options{AllowPrivate: true}
	tests := map[string]struct {
		url     string
		options outbound.Options
		want    string // in the error
	}{
		"a private address":      {serving(t, hang), outbound.Options{}, "not an address of the public internet"},
		"nobody there":           {closedPort(t), own, "refused"},
		"an unknown name":        {"http://receiver.invalid.", outbound.Options{Resolver: nowhere}, "receiver.invalid"},
		"a slow receiver":        {serving(t, hang), own, errTime.Error()},
		"a connection cut off":   {serving(t, hangUp), own, errExchange.Error()},
		"what is no HTTP":        {serving(t, babble), own, errExchange.Error()},
		"an unknown certificate": {servingTLS(t, nil), own, "certificate"},
		"TLS of other versions":  {servingTLS(t, &tls.Config{MaxVersion: tls.VersionTLS11}), own, "protocol version"},
		"no TLS":                 {strings.Replace(serving(t, hangUp), "http:", "https:", 1), own, "HTTPS"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait := 10 * time.Second
			if test.want == errTime.Error() {
				wait = 30 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			p := posting(t, Target{URL: test.url + "/secret?secret=secret", Keys: keysOf(oldKey)}, test.options)
			reply := p.Post(ctx, endpoint, message)
			if reply.Status != 0 || reply.Err == nil || !strings.Contains(reply.Err.Error(), test.want) {
				t.Errorf("reply %+v, want %q", reply, test.want)
			}
			if reply.Err != nil && strings.Contains(reply.Err.Error(), "secret") {
				t.Errorf("the error shows it: %v", reply.Err)
			}
		})
	}
}

func TestPostIsCanceled(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	p := posting(t, Target{URL: serving(t, func(w http.ResponseWriter, r *http.Request) { close(began); hang(w, r) }), Keys: keysOf(oldKey)},
		outbound.Options{AllowPrivate: true})
	go func() { // ends before Post does
		<-began
		cancel()
	}()
	if reply := p.Post(ctx, endpoint, message); !errors.Is(reply.Err, context.Canceled) {
		t.Errorf("reply %+v", reply)
	}
}

// A receiver that closes kept connections, unanswered, gets the message over a
// new one within the same try.
func TestKeptConnectionIsClosed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	p := posting(t, Target{Keys: keysOf(oldKey), URL: serving(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 2 {
			hangUp(w, r)
		}
	})}, outbound.Options{AllowPrivate: true})
	for range 2 {
		if reply := p.Post(t.Context(), endpoint, message); reply != (hooks.Reply{Status: 200}) {
			t.Errorf("reply %+v", reply)
		}
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
	}
}

// An answer without an end costs no more than its status.
func TestEndlessAnswer(t *testing.T) {
	t.Parallel()
	p := posting(t, Target{Keys: keysOf(oldKey), URL: serving(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<12)); err != nil {
				return
			}
		}
	})}, outbound.Options{AllowPrivate: true})
	if reply := p.Post(t.Context(), endpoint, message); reply != (hooks.Reply{Status: 200}) {
		t.Errorf("reply %+v", reply)
	}
}

// nowhere knows no name.
var nowhere = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	_ = theirs.Close()
	return ours, nil
}}

// hang answers nothing until the client has gone.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

// babble quotes the request in what is no answer.
func babble(w http.ResponseWriter, r *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_, _ = io.WriteString(connection, r.URL.String()+"\r\n\r\n")
		_ = connection.Close()
	}
}

func servingTLS(t *testing.T, config *tls.Config) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return "http://" + listener.Addr().String()
}
