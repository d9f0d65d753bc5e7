package players

import (
	"bytes"
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
	err = postJSON(ctx, server+"/v1/games/"+game+"/guests", "", body, &g)
	return g, err
}

// CreateArena makes an arena; its host is the owner of the token.
func CreateArena(ctx context.Context, server, game, token string, a protocol.NewArena) (made protocol.ArenaMade, err error) {
	err = postJSON(ctx, server+"/v1/games/"+game+"/arenas", token, a, &made)
	return made, err
}

// postJSON makes a POST request and decodes the answer into made.
func postJSON(ctx context.Context, url, token string, body, made any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return do(r, http.StatusCreated, made)
}

// GetJSON decodes a server's answer with status 200 into v.
func GetJSON(ctx context.Context, url string, v any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	return do(r, http.StatusOK, v)
}

// StatusError is an answer with an unexpected status.
type StatusError struct {
	Status int
	Body   string
}

// Error implements error.
func (r *StatusError) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Body) }

func do(r *http.Request, status int, v any) error { return DoJSON(http.DefaultClient, r, status, v) }

// DoJSON makes a request and decodes its JSON answer into v. A status other than the given
// one is a *StatusError.
func DoJSON(client *http.Client, r *http.Request, status int, v any) (err error) {
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != status {
		return fmt.Errorf("players: %s %s: %w", r.Method, r.URL, &StatusError{answer.StatusCode, string(raw)})
	}
	return json.Unmarshal(raw, v)
}
