package sink

import (
	"context"
	"net/http"
	"strings"
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
		"a private address":    {testenv.Serve(t, testenv.NeverRespond), httpserver.ClientOptions{}, eventq.Outcome{Delivery: eventq.Forbidden, Code: "blocked"}},
		"a slow receiver":      {testenv.Serve(t, testenv.NeverRespond), own, eventq.Outcome{Code: "timeout"}},
		"a connection cut off": {testenv.Serve(t, testenv.CloseConnection), own, eventq.Outcome{Code: "transport"}},
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
