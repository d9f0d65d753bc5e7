package sink

import (
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/testenv"
)

func TestTryWithoutAnswer(t *testing.T) {
	t.Parallel()
	own := httpserver.ClientOptions{AllowPrivate: true}
	tests := map[string]struct {
		url     string
		options httpserver.ClientOptions
		want    eventq.Outcome
	}{
		"a private address":      {testenv.Serve(t, testenv.NeverRespond), httpserver.ClientOptions{}, eventq.Outcome{Delivery: eventq.Forbidden, Code: "blocked"}},
		"nobody there":           {testenv.RefusingURL(t), own, eventq.Outcome{Code: "dial"}},
		"an unknown name":        {"http://receiver.invalid.", httpserver.ClientOptions{Resolver: testenv.FailingResolver}, eventq.Outcome{Code: "dns"}},
		"a slow receiver":        {testenv.Serve(t, testenv.NeverRespond), own, eventq.Outcome{Code: "timeout"}},
		"a connection cut off":   {testenv.Serve(t, testenv.CloseConnection), own, eventq.Outcome{Code: "transport"}},
		"what is no HTTP":        {testenv.Serve(t, testenv.RespondInvalid), own, eventq.Outcome{Code: "transport"}},
		"an unknown certificate": {testenv.ServeUntrustedTLS(t, nil), own, eventq.Outcome{Code: "tls"}},
		"TLS of other versions":  {testenv.ServeUntrustedTLS(t, &tls.Config{MaxVersion: tls.VersionTLS11}), own, eventq.Outcome{Code: "tls"}},
		"no TLS":                 {strings.Replace(testenv.Serve(t, testenv.CloseConnection), "http:", "https:", 1), own, eventq.Outcome{Code: "tls"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 10 * time.Second
			if test.want.Code == "timeout" {
				timeout = 30 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			sink, err := NewWebhook(WebhookOptions{URL: test.url + "/secret?secret=secret", Keys: keysOf(oldKey), Client: guarded(t, test.options)})
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
	sink, err := NewWebhook(WebhookOptions{URL: testenv.Serve(t, func(w http.ResponseWriter, r *http.Request) { close(began); testenv.NeverRespond(w, r) }), Keys: keysOf(oldKey),
		Client: guarded(t, httpserver.ClientOptions{AllowPrivate: true})})
	if err != nil {
		t.Fatal(err)
	}
	go func() { // ends before Send does
		<-began
		cancel()
	}()
	want(t, sink.Send(ctx, batchOf(`{"id":"a","type":"online"}`)), eventq.Outcome{Code: "canceled", Err: context.Canceled})
}

// If a receiver closes a kept connection without an answer, the same attempt uses
// a new one.
func TestKeptConnectionIsClosed(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	seen := make(chan string, 3)
	sink, err := NewWebhook(WebhookOptions{URL: testenv.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Get("webhook-id")
		if calls.Add(1) == 2 {
			testenv.CloseConnection(w, r)
		}
	}), Keys: keysOf(oldKey), Client: guarded(t, httpserver.ClientOptions{AllowPrivate: true})})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		want(t, sink.Send(t.Context(), batchOf(`{"id":"a","type":"online"}`)), eventq.Outcome{Delivery: eventq.Delivered, Code: "200"})
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
