package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

const (
	oldKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newKey = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
)

var message = webhook.Message{ID: "evt_1", Body: []byte(`{"type":"match.settled"}`)}

// A receiver with only the old key can verify a message that is signed with both.
func TestAPostIsSignedWithAllKeys(t *testing.T) {
	t.Parallel()
	receiver := testenv.StartReceiver(t, http.StatusNoContent, "")
	reply := newPosterTo(t, receiver, fixedKeys(newKey+"\n"+oldKey)).Post(t.Context(), message)
	if reply != (webhook.Reply{Status: 204}) {
		t.Errorf("reply %+v", reply)
	}
	request := receiver.Requests()[0]
	for _, key := range []string{oldKey, newKey} {
		if err := request.Verify(key, time.Now()); err != nil {
			t.Errorf("verified with %s: %v", key, err)
		}
	}
	if request.Header.Get("webhook-id") != "evt_1" || string(request.Body) != string(message.Body) {
		t.Errorf("%s with %v", request.Body, request.Header)
	}
	if request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/json" || len(request.Header.Values("Idempotency-Key")) > 0 {
		t.Errorf("%s with %v", request.Method, request.Header)
	}
}

func TestOnlyStatus2xxAcceptsTheMessage(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 201, 202, 204, 299} {
		receiver := testenv.StartReceiver(t, status, "secret")
		if reply := newPosterTo(t, receiver, fixedKeys(oldKey)).Post(t.Context(), message); reply != (webhook.Reply{Status: status}) {
			t.Errorf("%d: %+v", status, reply)
		}
	}
	for _, status := range []int{300, 301, 307, 400, 401, 404, 410, 418, 429, 499, 500, 503, 599} {
		receiver := testenv.StartReceiver(t, status, "secret", "Location", "/secret")
		reply := newPosterTo(t, receiver, fixedKeys(oldKey)).Post(t.Context(), message)
		if reply.Status != status || reply.Err == nil || !strings.Contains(reply.Err.Error(), fmt.Sprint(status)) || strings.Contains(reply.Err.Error(), "secret") {
			t.Errorf("%d: %+v", status, reply)
		}
		if len(receiver.Requests()) != 1 {
			t.Errorf("%d: %d requests: a redirect was followed", status, len(receiver.Requests()))
		}
	}
}

func TestRetryAfterIsRead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status int
		header string
		want   time.Duration
	}{
		{429, "7", 7 * time.Second}, {503, "0", time.Second}, {503, "86400", time.Hour}, {500, "2", 2 * time.Second}, {429, "soon", 0}, {200, "7", 0},
	}
	for _, test := range tests {
		receiver := testenv.StartReceiver(t, test.status, "", "Retry-After", test.header)
		if reply := newPosterTo(t, receiver, fixedKeys(oldKey)).Post(t.Context(), message); reply.RetryAfter != test.want {
			t.Errorf("%d with %q: after %s, want %s", test.status, test.header, reply.RetryAfter, test.want)
		}
	}
}

// The poster reads the keys for every attempt. Without keys it sends nothing.
func TestKeysAreReadForEachAttempt(t *testing.T) {
	t.Parallel()
	receiver := testenv.StartReceiver(t, http.StatusOK, "")
	keyText, keysErr := oldKey, error(nil)
	poster := newPosterTo(t, receiver, func() ([]webhook.Key, error) {
		if keysErr != nil {
			return nil, keysErr
		}
		return webhook.ParseKeys(keyText)
	})
	for i, key := range []string{oldKey, newKey} {
		keyText = key
		poster.Post(t.Context(), message)
		if err := receiver.Requests()[i].Verify(key, time.Now()); err != nil {
			t.Errorf("attempt %d: %v", i, err)
		}
	}
	keyText = ""
	if reply := poster.Post(t.Context(), message); reply.Status != 0 || !errors.Is(reply.Err, webhook.ErrInvalidKey) {
		t.Errorf("without a key: %+v", reply)
	}
	keysErr = errors.New("no such file")
	if reply := poster.Post(t.Context(), message); !errors.Is(reply.Err, keysErr) {
		t.Errorf("without a file: %+v", reply)
	}
	keyText, keysErr = oldKey, nil
	if reply := poster.Post(t.Context(), webhook.Message{ID: "a.b"}); !errors.Is(reply.Err, webhook.ErrInvalidID) {
		t.Errorf("with a bad id: %+v", reply)
	}
	if len(receiver.Requests()) != 2 {
		t.Errorf("%d messages were sent, want 2", len(receiver.Requests()))
	}
}

// An error does not show the URL, which may contain a secret.
func TestAnInvalidURLIsNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"ftp://receiver.test/secret", "http:///secret", "http://[::1/secret", "http://a b/secret"} {
		reply := newPoster(t, url, fixedKeys(oldKey), ClientOptions{}).Post(t.Context(), message)
		if reply.Err == nil || strings.Contains(reply.Err.Error(), "secret") {
			t.Errorf("%q: %v", url, reply.Err)
		}
	}
}

// endpointPoster is a poster to one endpoint.
type endpointPoster struct {
	Poster
	endpoint webhook.Endpoint
}

func (p *endpointPoster) Post(ctx context.Context, message webhook.Message) webhook.Reply {
	return p.Poster.Post(ctx, p.endpoint, message)
}

// newPosterTo returns a poster to a receiver.
func newPosterTo(t *testing.T, receiver *testenv.Receiver, keys func() ([]webhook.Key, error)) *endpointPoster {
	t.Helper()
	return newPoster(t, receiver.URL, keys, ClientOptions{AllowPrivate: true})
}

func newPoster(t *testing.T, url string, keys func() ([]webhook.Key, error), options ClientOptions) *endpointPoster {
	t.Helper()
	client := NewClient(options)
	t.Cleanup(client.CloseIdleConnections)
	return &endpointPoster{
		Poster{Clients: map[bool]*http.Client{false: client}, Keys: func(webhook.Endpoint) ([]webhook.Key, error) { return keys() }},
		webhook.Endpoint{Game: "demo", Name: "rewards", URL: url},
	}
}

func fixedKeys(text string) func() ([]webhook.Key, error) {
	return func() ([]webhook.Key, error) { return webhook.ParseKeys(text) }
}
