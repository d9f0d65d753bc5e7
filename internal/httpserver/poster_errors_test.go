package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

func TestAnAttemptWithoutAReplyIsDescribed(t *testing.T) {
	t.Parallel()
	allowPrivate := ClientOptions{AllowPrivate: true}
	tests := map[string]struct {
		url     string
		options ClientOptions
		want    string // in the error
	}{
		"a private address":           {testenv.Serve(t, testenv.NeverRespond), ClientOptions{}, "not an address of the public internet; if you trust the receiver, set allow_private: true"},
		"a refused connection":        {testenv.RefusingURL(t), allowPrivate, "refused"},
		"an unknown name":             {"http://receiver.invalid.", ClientOptions{Resolver: testenv.FailingResolver}, "receiver.invalid"},
		"a slow receiver":             {testenv.Serve(t, testenv.NeverRespond), allowPrivate, errTimeout.Error()},
		"a connection cut off":        {testenv.Serve(t, testenv.CloseConnection), allowPrivate, errBrokenOff.Error()},
		"a response that is not HTTP": {testenv.Serve(t, testenv.RespondInvalid), allowPrivate, errBrokenOff.Error()},
		"an unknown certificate":      {testenv.ServeUntrustedTLS(t, nil), allowPrivate, "certificate"},
		"TLS of other versions":       {testenv.ServeUntrustedTLS(t, &tls.Config{MaxVersion: tls.VersionTLS11}), allowPrivate, "protocol version"},
		"no TLS":                      {strings.Replace(testenv.Serve(t, testenv.CloseConnection), "http:", "https:", 1), allowPrivate, "HTTPS"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait := 10 * time.Second
			if test.want == errTimeout.Error() {
				wait = 30 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			poster := newPoster(t, test.url+"/secret?secret=secret", fixedKeys(oldKey), test.options)
			reply := poster.Post(ctx, message)
			if reply.Status != 0 || reply.Err == nil || !strings.Contains(reply.Err.Error(), test.want) {
				t.Errorf("reply %+v, want %q", reply, test.want)
			}
			if reply.Err != nil && strings.Contains(reply.Err.Error(), "secret") {
				t.Errorf("the error shows a secret: %v", reply.Err)
			}
		})
	}
}

func TestACanceledPostReturnsItsContextError(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	poster := newPoster(t, testenv.Serve(t, func(w http.ResponseWriter, r *http.Request) { close(started); testenv.NeverRespond(w, r) }),
		fixedKeys(oldKey), ClientOptions{AllowPrivate: true})
	go func() { // ends before Post does
		<-started
		cancel()
	}()
	if reply := poster.Post(ctx, message); !errors.Is(reply.Err, context.Canceled) {
		t.Errorf("reply %+v", reply)
	}
}

// If a receiver closes an idle connection without a response, the same attempt uses
// a new one.
func TestAClosedIdleConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	poster := newPoster(t, testenv.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 2 {
			testenv.CloseConnection(w, r)
		}
	}), fixedKeys(oldKey), ClientOptions{AllowPrivate: true})
	for range 2 {
		if reply := poster.Post(t.Context(), message); reply != (webhook.Reply{Status: 200}) {
			t.Errorf("reply %+v", reply)
		}
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
	}
}

// The poster reads only the status and a limited part of an endless response.
func TestOnlyAPartOfAnEndlessResponseIsRead(t *testing.T) {
	t.Parallel()
	poster := newPoster(t, testenv.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<12)); err != nil {
				return
			}
		}
	}), fixedKeys(oldKey), ClientOptions{AllowPrivate: true})
	if reply := poster.Post(t.Context(), message); reply != (webhook.Reply{Status: 200}) {
		t.Errorf("reply %+v", reply)
	}
}
