package httphook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/hooks"
	"laststand/internal/outbound"
	"laststand/internal/webhook"
)

const (
	oldKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newKey = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
)

var (
	endpoint = hooks.Endpoint{Game: "demo", Name: "rewards"}
	message  = hooks.Message{ID: "evt_1", Body: []byte(`{"type":"match.settled"}`)}
)

// A receiver with the old key only verifies what is signed by both.
func TestPostIsSigned(t *testing.T) {
	t.Parallel()
	at := receive(t, http.StatusNoContent, "")
	reply := at.poster(t, keysOf(newKey+"\n"+oldKey)).Post(t.Context(), endpoint, message)
	if reply != (hooks.Reply{Status: 204}) {
		t.Errorf("reply %+v", reply)
	}
	r := at.seen[0]
	for _, key := range []string{oldKey, newKey} {
		if err := r.verify(key); err != nil {
			t.Errorf("by %s: %v", key, err)
		}
	}
	if r.header.Get("webhook-id") != "evt_1" || string(r.body) != string(message.Body) {
		t.Errorf("%s with %v", r.body, r.header)
	}
	if r.method != http.MethodPost || r.header.Get("Content-Type") != "application/json" || len(r.header.Values("Idempotency-Key")) > 0 {
		t.Errorf("%s with %v", r.method, r.header)
	}
}

func TestEachStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 201, 202, 204, 299} {
		at := receive(t, status, "secret")
		if reply := at.poster(t, keysOf(oldKey)).Post(t.Context(), endpoint, message); reply != (hooks.Reply{Status: status}) {
			t.Errorf("%d: %+v", status, reply)
		}
	}
	for _, status := range []int{300, 301, 307, 400, 401, 404, 410, 418, 429, 499, 500, 503, 599} {
		at := receive(t, status, "secret", "Location", "/secret")
		reply := at.poster(t, keysOf(oldKey)).Post(t.Context(), endpoint, message)
		if reply.Status != status || reply.Err == nil || !strings.Contains(reply.Err.Error(), fmt.Sprint(status)) || strings.Contains(reply.Err.Error(), "secret") {
			t.Errorf("%d: %+v", status, reply)
		}
		if len(at.seen) != 1 {
			t.Errorf("%d: %d requests: a redirect was followed", status, len(at.seen))
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
		at := receive(t, test.status, "", "Retry-After", test.header)
		if reply := at.poster(t, keysOf(oldKey)).Post(t.Context(), endpoint, message); reply.After != test.want {
			t.Errorf("%d with %q: after %s, want %s", test.status, test.header, reply.After, test.want)
		}
	}
}

// The keys are read with every try; without them nothing is sent.
func TestKeysChange(t *testing.T) {
	t.Parallel()
	at := receive(t, http.StatusOK, "")
	text, fault := oldKey, error(nil)
	p := at.poster(t, func() ([]webhook.Key, error) {
		if fault != nil {
			return nil, fault
		}
		return webhook.ParseKeys(text)
	})
	for i, key := range []string{oldKey, newKey} {
		text = key
		p.Post(t.Context(), endpoint, message)
		if err := at.seen[i].verify(key); err != nil {
			t.Errorf("try %d: %v", i, err)
		}
	}
	text = ""
	if reply := p.Post(t.Context(), endpoint, message); reply.Status != 0 || !errors.Is(reply.Err, webhook.ErrKey) {
		t.Errorf("without a key: %+v", reply)
	}
	fault = errors.New("no such file")
	if reply := p.Post(t.Context(), endpoint, message); !errors.Is(reply.Err, fault) {
		t.Errorf("without a file: %+v", reply)
	}
	text, fault = oldKey, nil
	if reply := p.Post(t.Context(), endpoint, hooks.Message{ID: "a.b"}); !errors.Is(reply.Err, webhook.ErrID) {
		t.Errorf("with a bad id: %+v", reply)
	}
	if len(at.seen) != 2 {
		t.Errorf("sent %d times", len(at.seen))
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "receiver.test", "ftp://receiver.test/secret", "http:///secret", "http://[::1/secret", "http://a b/secret"} {
		_, err := New([]Target{{Game: "demo", Name: "rewards", URL: url}})
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), `"rewards"`) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	p, err := New([]Target{{Game: "demo", Name: "rewards", URL: "https://user:secret@receiver.test:8443/secret?secret#secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if host := p.Host(endpoint); host != "https://receiver.test:8443" {
		t.Errorf("host %q", host)
	}
	other := hooks.Endpoint{Game: "other", Name: "rewards"}
	if reply := p.Post(t.Context(), other, message); p.Host(other) != "" || reply.Err == nil {
		t.Errorf("of another: %q, %+v", p.Host(other), reply)
	}
}

// posted is a request as it came.
type posted struct {
	method string
	header http.Header
	body   []byte
}

func (p posted) verify(key string) error {
	keys, err := webhook.ParseKeys(key)
	if err != nil {
		return err
	}
	return webhook.Verify(keys, webhook.Headers{
		ID: p.header.Get("webhook-id"), Timestamp: p.header.Get("webhook-timestamp"), Signature: p.header.Get("webhook-signature"),
	}, p.body, time.Now())
}

// receiver gives one answer to all, and keeps what came.
type receiver struct {
	url string
	mu  sync.Mutex

	seen []posted
}

func receive(t *testing.T, status int, answer string, header ...string) *receiver {
	t.Helper()
	at := new(receiver)
	at.url = serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		at.mu.Lock()
		at.seen = append(at.seen, posted{r.Method, r.Header.Clone(), body})
		at.mu.Unlock()
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
	return at
}

func (at *receiver) poster(t *testing.T, keys func() ([]webhook.Key, error)) *Poster {
	t.Helper()
	return posting(t, Target{URL: at.url, Keys: keys}, outbound.Options{AllowPrivate: true})
}

// posting posts to a target, which becomes that of the endpoint.
func posting(t *testing.T, target Target, o outbound.Options) *Poster {
	t.Helper()
	target.Game, target.Name, target.Client = endpoint.Game, endpoint.Name, outbound.New(o)
	t.Cleanup(target.Client.CloseIdleConnections)
	p, err := New([]Target{target})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serving(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func keysOf(text string) func() ([]webhook.Key, error) {
	return func() ([]webhook.Key, error) { return webhook.ParseKeys(text) }
}
