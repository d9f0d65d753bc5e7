package httpposter

import (
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

var (
	endpoint = webhook.Endpoint{Game: "demo", Name: "rewards"}
	message  = webhook.Message{ID: "evt_1", Body: []byte(`{"type":"match.settled"}`)}
)

// A receiver with only the old key can verify a message that is signed with both.
func TestAPostIsSignedWithAllKeys(t *testing.T) {
	t.Parallel()
	receiver := testenv.StartReceiver(t, http.StatusNoContent, "")
	reply := newPosterTo(t, receiver, fixedKeys(newKey+"\n"+oldKey)).Post(t.Context(), endpoint, message)
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
		if reply := newPosterTo(t, receiver, fixedKeys(oldKey)).Post(t.Context(), endpoint, message); reply != (webhook.Reply{Status: status}) {
			t.Errorf("%d: %+v", status, reply)
		}
	}
	for _, status := range []int{300, 301, 307, 400, 401, 404, 410, 418, 429, 499, 500, 503, 599} {
		receiver := testenv.StartReceiver(t, status, "secret", "Location", "/secret")
		reply := newPosterTo(t, receiver, fixedKeys(oldKey)).Post(t.Context(), endpoint, message)
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
		if reply := newPosterTo(t, receiver, fixedKeys(oldKey)).Post(t.Context(), endpoint, message); reply.RetryAfter != test.want {
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
		poster.Post(t.Context(), endpoint, message)
		if err := receiver.Requests()[i].Verify(key, time.Now()); err != nil {
			t.Errorf("attempt %d: %v", i, err)
		}
	}
	keyText = ""
	if reply := poster.Post(t.Context(), endpoint, message); reply.Status != 0 || !errors.Is(reply.Err, webhook.ErrInvalidKey) {
		t.Errorf("without a key: %+v", reply)
	}
	keysErr = errors.New("no such file")
	if reply := poster.Post(t.Context(), endpoint, message); !errors.Is(reply.Err, keysErr) {
		t.Errorf("without a file: %+v", reply)
	}
	keyText, keysErr = oldKey, nil
	if reply := poster.Post(t.Context(), endpoint, webhook.Message{ID: "a.b"}); !errors.Is(reply.Err, webhook.ErrInvalidID) {
		t.Errorf("with a bad id: %+v", reply)
	}
	if len(receiver.Requests()) != 2 {
		t.Errorf("%d messages were sent, want 2", len(receiver.Requests()))
	}
}

func TestNewRefusesInvalidURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "receiver.test", "ftp://receiver.test/secret", "http:///secret", "http://[::1/secret", "http://a b/secret"} {
		_, err := New([]Target{{Game: "demo", Name: "rewards", URL: url}})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), `"rewards"`) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestHostHasNoSecretParts(t *testing.T) {
	t.Parallel()
	p, err := New([]Target{{Game: "demo", Name: "rewards", URL: "https://user:secret@receiver.test:8443/secret?secret#secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if host := p.Host(endpoint); host != "https://receiver.test:8443" {
		t.Errorf("host %q", host)
	}
	other := webhook.Endpoint{Game: "other", Name: "rewards"}
	if reply := p.Post(t.Context(), other, message); p.Host(other) != "" || reply.Err == nil {
		t.Errorf("an unknown endpoint: %q, %+v", p.Host(other), reply)
	}
}

// newPosterTo returns a poster to a receiver.
func newPosterTo(t *testing.T, receiver *testenv.Receiver, keys func() ([]webhook.Key, error)) *Poster {
	t.Helper()
	return newPoster(t, Target{URL: receiver.URL, Keys: keys}, ClientOptions{AllowPrivate: true})
}

// newPoster returns a poster to a target, which becomes the target of the
// endpoint.
func newPoster(t *testing.T, target Target, options ClientOptions) *Poster {
	t.Helper()
	target.Game, target.Name, target.Client = endpoint.Game, endpoint.Name, NewClient(options)
	t.Cleanup(target.Client.CloseIdleConnections)
	p, err := New([]Target{target})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fixedKeys(text string) func() ([]webhook.Key, error) {
	return func() ([]webhook.Key, error) { return webhook.ParseKeys(text) }
}
