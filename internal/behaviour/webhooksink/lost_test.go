package webhooksink

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/behaviour"
	"laststand/internal/outbound"
)

func TestTryWithoutAnswer(t *testing.T) {
	t.Parallel()
	own := outbound.Options{AllowPrivate: true}
	tests := map[string]struct {
		url     string
		options outbound.Options
		want    behaviour.Outcome
	}{
		"a private address":      {serving(t, hang), outbound.Options{}, behaviour.Outcome{Fate: behaviour.Barred, Code: "blocked"}},
		"nobody there":           {closedPort(t), own, behaviour.Outcome{Code: "dial"}},
		"an unknown name":        {"http://receiver.invalid.", outbound.Options{Resolver: nowhere}, behaviour.Outcome{Code: "dns"}},
		"a slow receiver":        {serving(t, hang), own, behaviour.Outcome{Code: "timeout"}},
		"a connection cut off":   {serving(t, hangUp), own, behaviour.Outcome{Code: "transport"}},
		"what is no HTTP":        {serving(t, babble), own, behaviour.Outcome{Code: "transport"}},
		"an unknown certificate": {servingTLS(t, nil), own, behaviour.Outcome{Code: "tls"}},
		"TLS of other versions":  {servingTLS(t, &tls.Config{MaxVersion: tls.VersionTLS11}), own, behaviour.Outcome{Code: "tls"}},
		"no TLS":                 {strings.Replace(serving(t, hangUp), "http:", "https:", 1), own, behaviour.Outcome{Code: "tls"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := 10 * time.Second
			if test.want.Code == "timeout" {
				patience = 30 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			sink, err := New(Options{URL: test.url + "/secret?secret=secret", Keys: keysOf(oldKey), Client: guarded(t, test.options)})
			if err != nil {
				t.Fatal(err)
			}
			outcome := sink.Send(ctx, batchOf(`{"id":"a","type":"online"}`))
			want(t, outcome, test.want)
			if strings.Contains(outcome.Err.Error(), "secret") {
				t.Errorf("the error shows it: %v", outcome.Err)
			}
		})
	}
}

func TestSendIsCanceled(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	sink, err := New(Options{URL: serving(t, func(w http.ResponseWriter, r *http.Request) { close(began); hang(w, r) }), Keys: keysOf(oldKey),
		Client: guarded(t, outbound.Options{AllowPrivate: true})})
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends before Send does
		<-began
		cancel()
	}()
	want(t, sink.Send(ctx, batchOf(`{"id":"a","type":"online"}`)), behaviour.Outcome{Code: "canceled", Err: context.Canceled})
}

// A receiver that closes kept connections, unanswered, gets the batch over a
// new one within the same try.
func TestKeptConnectionIsClosed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	seen := make(chan string, 3)
	sink, err := New(Options{URL: serving(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("webhook-id")
		if calls.Add(1) == 2 {
			hangUp(w, r)
		}
	}), Keys: keysOf(oldKey), Client: guarded(t, outbound.Options{AllowPrivate: true})})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		want(t, sink.Send(t.Context(), batchOf(`{"id":"a","type":"online"}`)), behaviour.Outcome{Fate: behaviour.Arrived, Code: "200"})
	}
	close(seen)
	for id := range seen {
		if id != "batch_1" {
			t.Errorf("the id %q", id)
		}
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
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

func serving(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
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
