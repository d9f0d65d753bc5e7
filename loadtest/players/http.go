package players

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Guest is a player as the server knows it.
type Guest struct {
	ID       string `json:"player_id"`
	Nickname string `json:"nickname"`
	Token    string `json:"token"`
}

// CreateGuest makes a new guest at a server such as http://127.0.0.1:8080. If the nickname
// is empty, the server chooses one.
func CreateGuest(ctx context.Context, server, game, nickname string) (g Guest, err error) {
	err = GuestCall(server, game, nickname).Do(ctx, &g)
	return g, err
}

// GuestCall is the call of CreateGuest.
func GuestCall(server, game, nickname string) Call {
	body := map[string]string{"device": rand.Text() + rand.Text()[:6]}
	if nickname != "" {
		body["nickname"] = nickname
	}
	return Call{Method: http.MethodPost, URL: server + "/v1/games/" + game + "/guests", Body: body}
}

// CreateArena makes an arena; its host is the owner of the token.
func CreateArena(ctx context.Context, server, game, token string, a protocol.NewArena) (made protocol.ArenaMade, err error) {
	err = Call{Method: http.MethodPost, URL: server + "/v1/games/" + game + "/arenas", Token: token, Body: a}.Do(ctx, &made)
	return made, err
}

// Call is an HTTP request. Only the URL is needed.
type Call struct {
	Client *http.Client // nil: the default client
	Method string       // "": GET
	URL    string
	Host   string // "": that of the URL
	Token  string
	Header http.Header // further headers
	Body   any         // sent as JSON; nil: none
}

// Do makes the request and decodes its JSON answer into v. If the status is no success, the answer is
// the error.
func (c Call) Do(ctx context.Context, v any) error {
	answer, err := c.Send(ctx)
	if err != nil {
		return err
	}
	if answer.Status/100 != 2 {
		return fmt.Errorf("players: %s %s: %w", c.Method, c.URL, answer)
	}
	return json.Unmarshal(answer.Body, v)
}

// Response is the answer to a call.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Error implements error, for an answer with a status that is no success.
func (r Response) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Body) }

// Send makes the request, and returns the answer whatever its status is.
func (c Call) Send(ctx context.Context) (answer Response, err error) {
	defer testenv.Recover(&err)
	var body io.Reader
	if c.Body != nil {
		body = bytes.NewReader(testenv.Must(json.Marshal(c.Body)))
	}
	r := testenv.Must(http.NewRequestWithContext(ctx, c.Method, c.URL, body))
	maps.Copy(r.Header, c.Header)
	if r.Host = c.Host; body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := cmp.Or(c.Client, http.DefaultClient).Do(r)
	testenv.MustDo(err)
	defer response.Body.Close()
	return Response{response.StatusCode, response.Header, testenv.Must(io.ReadAll(response.Body))}, nil
}

// CloseCode returns the close code that ended a connection, 0 if there was none.
func CloseCode(err error) int {
	if closeErr, ok := errors.AsType[*websocket.CloseError](err); ok {
		return closeErr.Code
	}
	return 0
}

// ReconnectAfter says whether, and after how long, a client reconnects after it lost its
// connection with err. It follows the contract for each close code. It also reconnects
// after a replaced connection: a client has only one at a time, so it lost the newer one
// too.
func ReconnectAfter(err error) (after time.Duration, ok bool) {
	closed, _ := errors.AsType[*websocket.CloseError](err)
	switch code := CloseCode(err); code {
	case 0:
		return shortPause(), true
	case protocol.CloseOverloaded:
		return retryAfter(closed.Text), true
	case protocol.CloseTooFast:
		return time.Minute, true
	case protocol.CloseSilent, protocol.CloseSlowReader, protocol.CloseReplaced:
		return 0, true
	default:
		return 0, code < 4000 && code != protocol.CloseTooLarge
	}
}

// retryAfter reads the delay from the close reason of an overloaded server.
func retryAfter(reason string) time.Duration {
	var body protocol.Error
	if json.Unmarshal([]byte(reason), &body) != nil || body.RetryAfterMS == 0 {
		return shortPause()
	}
	return time.Duration(body.RetryAfterMS) * time.Millisecond
}

// shortPause returns a random pause, so that clients do not all reconnect at once.
func shortPause() time.Duration {
	return 20*time.Millisecond + mathrand.N(180*time.Millisecond) //nolint:gosec // a pause is no secret
}

// isTemporary reports whether an HTTP request may succeed later.
func isTemporary(err error) bool {
	refused, ok := errors.AsType[Response](err)
	return !ok || refused.Status == http.StatusTooManyRequests || refused.Status >= 500
}

// outcome describes the result of a call in a few words.
func outcome(err error) string {
	code := CloseCode(err)
	refused, _ := errors.AsType[Response](err)
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return "ok"
	case code != 0:
		return fmt.Sprintf("closed %d", code)
	case refused.Status != 0:
		return fmt.Sprintf("status %d", refused.Status)
	case errors.Is(err, context.Canceled):
		return "given up"
	case timeout != nil && timeout.Timeout():
		return "timeout"
	}
	return "failed"
}
