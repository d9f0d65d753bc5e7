// Package player is a player that a program plays: it gets a guest's token,
// connects, joins duels and answers. It shares the wire contract with the
// server and nothing else.
package player

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// Guest is a player as the server knows it.
type Guest struct {
	ID       string `json:"player_id"`
	Nickname string `json:"nickname"`
	Token    string `json:"token"`
}

// Frame is a reply (Re set) or a push of the server, and when it came.
type Frame struct {
	Re    *int64          `json:"re"`
	Type  string          `json:"type"`
	Match string          `json:"match"`
	Seq   int64           `json:"seq"`
	Data  json.RawMessage `json:"data"`

	Came time.Time `json:"-"`
	Raw  []byte    `json:"-"`
}

// Player is a connected player. It is not safe for concurrent use.
type Player struct {
	Guest
	Welcome protocol.Welcome
	conn    *websocket.Conn
	last    int64 // id of the last request
}

// NewGuest makes a new guest at a server such as http://127.0.0.1:8080; an
// empty nickname lets the server choose one.
func NewGuest(ctx context.Context, server, game, nickname string) (Guest, error) {
	body := map[string]string{"device": rand.Text() + rand.Text()[:6]}
	if nickname != "" {
		body["nickname"] = nickname
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return Guest{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/v1/games/"+game+"/guests", bytes.NewReader(encoded))
	if err != nil {
		return Guest{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return Guest{}, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return Guest{}, err
	}
	if answer.StatusCode != http.StatusCreated {
		return Guest{}, fmt.Errorf("player: guest: %s: %s", answer.Status, raw)
	}
	var g Guest
	return g, json.Unmarshal(raw, &g)
}

// Connect connects a guest and says hello; resume may be nil.
func Connect(ctx context.Context, server string, g Guest, resume *protocol.Resume) (*Player, error) {
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, ReadBufferSize: 4096, WriteBufferSize: 1024}
	conn, answer, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(server, "http")+"/v1/ws", nil)
	if err != nil {
		return nil, fmt.Errorf("player: connect: %w", err)
	}
	_ = answer.Body.Close()
	p := &Player{Guest: g, conn: conn}
	if _, err := p.Send(protocol.TypeHello, protocol.Hello{Token: g.Token, Resume: resume}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	f, err := p.Read(10 * time.Second)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if f.Type != protocol.TypeWelcome {
		return nil, errors.Join(fmt.Errorf("player: hello was answered with %s", f.Raw), conn.Close())
	}
	return p, json.Unmarshal(f.Data, &p.Welcome)
}

// Send sends a request and returns its id.
func (p *Player) Send(kind string, data any) (int64, error) {
	p.last++
	frame, err := json.Marshal(struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
		Data any    `json:"data"`
	}{p.last, kind, data})
	if err != nil {
		return 0, err
	}
	return p.last, p.SendRaw(frame)
}

// SendRaw sends a text frame as it is.
func (p *Player) SendRaw(frame []byte) error {
	return p.conn.WriteMessage(websocket.TextMessage, frame)
}

// Read waits for the next frame.
func (p *Player) Read(within time.Duration) (Frame, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return Frame{}, err
	}
	_, raw, err := p.conn.ReadMessage()
	if err != nil {
		return Frame{}, fmt.Errorf("player: read: %w", err)
	}
	f := Frame{Came: time.Now(), Raw: raw}
	return f, json.Unmarshal(raw, &f)
}

// Close ends the connection without a word, as a lost network does.
func (p *Player) Close() error { return p.conn.Close() }

// Guess is an answer to a question of any kind: well-formed, right by chance.
func Guess(q protocol.Question) protocol.Given {
	zero := 0
	switch q.Kind {
	case "single", "boolean":
		return protocol.Given{Choice: &zero}
	case "multiple":
		return protocol.Given{Choices: []int{0}}
	case "number":
		return protocol.Given{Value: json.RawMessage("42")}
	}
	return protocol.Given{Value: json.RawMessage(`"guess"`)}
}
