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
	"net/http"

	"laststand/internal/protocol"
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
	body := map[string]string{"device": rand.Text() + rand.Text()[:6]}
	if nickname != "" {
		body["nickname"] = nickname
	}
	err = Call{Method: http.MethodPost, URL: server + "/v1/games/" + game + "/guests", Body: body}.Do(ctx, &g)
	return g, err
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
	Token  string
	Body   any // sent as JSON; nil: none
}

// At returns the call to a path below the URL, with a token.
func (c Call) At(path, token string) Call {
	c.URL, c.Token = c.URL+path, token
	return c
}

// StatusError is an answer with a status that is no success.
type StatusError struct {
	Status int
	Body   string
}

// Error implements error.
func (r *StatusError) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Body) }

// Do makes the request and decodes its JSON answer into v. A status that is no success is a
// *StatusError.
func (c Call) Do(ctx context.Context, v any) (err error) {
	var body io.Reader
	if c.Body != nil {
		encoded, err := json.Marshal(c.Body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(ctx, c.Method, c.URL, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	answer, err := cmp.Or(c.Client, http.DefaultClient).Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("players: %s %s: %w", r.Method, r.URL, &StatusError{answer.StatusCode, string(raw)})
	}
	return json.Unmarshal(raw, v)
}
