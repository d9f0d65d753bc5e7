package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

// response is the answer to an HTTP request. Its status is 0 if there was none.
type response struct {
	status int
	header http.Header
	body   []byte
}

// send sends a request with a token, or "". The body is JSON as text or a value to encode; nil: none. A
// missing answer fails the test.
func send(t *testing.T, method, url, token string, body any) response {
	t.Helper()
	r, err := trySend(t.Context(), method, url, token, body)
	if err != nil {
		t.Error(err)
	}
	return r
}

// trySend is send for a server that may be down.
func trySend(ctx context.Context, method, url, token string, body any) (r response, err error) {
	text, isText := body.(string)
	if !isText && body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return r, err
		}
		text = string(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(text))
	if err != nil {
		return r, err
	}
	if text != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	r.status, r.header = answer.StatusCode, answer.Header
	r.body, err = io.ReadAll(answer.Body)
	return r, err
}

// decode decodes the body and returns the status.
func (r response) decode(t *testing.T, into any) int {
	t.Helper()
	if err := json.Unmarshal(r.body, into); err != nil {
		t.Errorf("%v: %s", err, r)
	}
	return r.status
}

func (r response) String() string { return fmt.Sprint(r.status, r.header, string(r.body)) }

// get reads a JSON answer into v, and returns the status.
func get(t *testing.T, url string, v any) int {
	t.Helper()
	r := send(t, http.MethodGet, url, "", nil)
	if v != nil && r.status == http.StatusOK {
		r.decode(t, v)
	}
	return r.status
}

// requestJSON sends a request of a player and reads the answer with any status.
func requestJSON(t *testing.T, method, url, token string, body any) (status int, answer map[string]any) {
	t.Helper()
	r := send(t, method, url, token, body)
	if len(r.body) > 0 {
		r.decode(t, &answer)
	}
	return r.status, answer
}

// postGuest requests the guest of a device, with the code of an arena or "".
func postGuest(t *testing.T, url, device, arena string) response {
	t.Helper()
	return send(t, http.MethodPost, url+"/v1/games/demo/guests", "", map[string]string{"device": device, "arena": arena})
}

// metrics returns the metrics that the operations address of a node shows.
func metrics(t *testing.T, opsURL string) string {
	t.Helper()
	r := send(t, http.MethodGet, opsURL+"/metrics", "", nil)
	if r.status != http.StatusOK {
		t.Fatalf("the metrics: %s", r)
	}
	return string(r.body)
}

// run runs a command that calls the node, and returns all that it printed. The command must end with a
// code.
func (n *testNode) run(t *testing.T, wantCode int, args ...string) string {
	t.Helper()
	code, out, stderr := command(append(args, n.flags...)...)
	if code != wantCode {
		t.Fatalf("%v ended with %d, want %d: %s%s", args, code, wantCode, out, stderr)
	}
	return out + stderr
}

// token returns a token that the node accepts. That of an admin has no game.
func (n *testNode) token(t *testing.T, role, sub string) string {
	t.Helper()
	args := []string{"token", "--role=" + role, "--sub=" + sub}
	if role != "admin" {
		args = append(args, "--game=demo")
	}
	return strings.TrimSpace(n.run(t, 0, args...))
}

// redisClient returns a client of the Redis at a URL.
func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	options := testenv.Need(redis.ParseURL(url))(t)
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}
