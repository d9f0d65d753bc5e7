// Package player is a simulated player for load programs. It gets the token of a
// guest, connects, joins duels and arenas, and answers. A ReconnectingPlayer does the same while
// servers stop and start. The package shares only the wire contract with the server.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// Frame is a reply (Re is set) or a push of the server, and the time when it came.
type Frame struct {
	Re    *int64          `json:"re"`
	Type  string          `json:"type"`
	Match string          `json:"match"`
	Seq   int64           `json:"seq"`
	Data  json.RawMessage `json:"data"`

	ReceivedAt time.Time `json:"-"`
	Raw        []byte    `json:"-"`
}

// Player is a connected player. It is not safe for concurrent use.
type Player struct {
	Guest
	Welcome     protocol.Welcome
	ClockLeadMS int64 // ms: cluster time is at most this far ahead of this machine's clock
	conn        *websocket.Conn
	lastID      int64     // id of the last request
	frameBuf    []byte    // frame of the last SendData
	fastConn    *fastConn // nil: the library reads and writes the connection
}

// readBuffer holds the few frames that follow the end of a question.
const readBuffer = 4096

// helloWithin bounds the wait for a welcome if the context has no deadline.
const helloWithin = 10 * time.Second

// Connect connects a guest and says hello; resume may be nil.
func Connect(ctx context.Context, server string, g Guest, resume *protocol.Resume) (*Player, error) {
	return Dialer{}.Connect(ctx, server, g, resume)
}

// ConnectBy does the same as Connect, but connects from the dialer's address.
func ConnectBy(ctx context.Context, from *net.Dialer, server string, g Guest, resume *protocol.Resume) (*Player, error) {
	return Dialer{From: from}.Connect(ctx, server, g, resume)
}

// Dialer configures how a player connects; the zero value is valid.
type Dialer struct {
	From   *net.Dialer // nil: any address
	Buffer int         // size of the read buffer in bytes; 0: enough for the end of a question
	Lean   bool        // for an AnsweringPlayer
}

// Connect connects a guest and says hello; resume may be nil.
func (d Dialer) Connect(ctx context.Context, server string, g Guest, resume *protocol.Resume) (*Player, error) {
	p := &Player{Guest: g}
	dialer := websocket.Dialer{
		NetDialContext: d.dial(p), Subprotocols: []string{protocol.Subprotocol},
		ReadBufferSize: cmp.Or(d.Buffer, readBuffer), WriteBufferSize: min(cmp.Or(d.Buffer, readBuffer), 1024),
	}
	conn, answer, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(server, "http")+"/v1/ws", nil)
	if err != nil {
		return nil, fmt.Errorf("player: connect: %w", err)
	}
	_ = answer.Body.Close()
	p.conn = conn
	asked := time.Now()
	if _, err := p.Send(protocol.TypeHello, protocol.Hello{Token: g.Token, Resume: resume}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	within := helloWithin
	if until, ok := ctx.Deadline(); ok {
		within = time.Until(until)
	}
	f, err := p.Read(within)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if f.Type != protocol.TypeWelcome {
		return nil, errors.Join(fmt.Errorf("player: hello was answered with %s", f.Raw), conn.Close())
	}
	err = json.Unmarshal(f.Data, &p.Welcome)
	p.ClockLeadMS = p.Welcome.ServerAt - asked.UnixMilli()
	return p, err
}

// dial returns the function that opens a player's connection.
func (d Dialer) dial(p *Player) func(ctx context.Context, network, address string) (net.Conn, error) {
	from := cmp.Or(d.From, new(net.Dialer))
	if !d.Lean {
		return from.DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := from.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		p.fastConn = newFastConn(c)
		return p.fastConn, nil
	}
}

// Send sends a request and returns its id.
func (p *Player) Send(kind string, data any) (int64, error) {
	p.lastID++
	frame, err := json.Marshal(struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
		Data any    `json:"data"`
	}{p.lastID, kind, data})
	if err != nil {
		return 0, err
	}
	return p.lastID, p.SendRaw(frame)
}

// SendData is Send for data that is already JSON. It requires a Dialer with Lean, and
// keeps no reference to data.
func (p *Player) SendData(kind string, data []byte) (int64, error) {
	p.lastID++
	p.frameBuf = append(strconv.AppendInt(append(p.frameBuf[:0], `{"id":`...), p.lastID, 10), `,"type":"`...)
	p.frameBuf = append(append(append(p.frameBuf, kind...), `","data":`...), data...)
	p.frameBuf = append(p.frameBuf, '}')
	return p.lastID, p.fastConn.write(textFrame, p.frameBuf)
}

// SendRaw sends a text frame unchanged.
func (p *Player) SendRaw(frame []byte) error {
	return p.conn.WriteMessage(websocket.TextMessage, frame)
}

// Read waits for the next frame.
func (p *Player) Read(within time.Duration) (Frame, error) {
	raw, err := p.ReadRaw(within)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{ReceivedAt: time.Now(), Raw: raw}
	return f, json.Unmarshal(raw, &f)
}

// ReadRaw waits for the next frame and returns it undecoded.
func (p *Player) ReadRaw(within time.Duration) ([]byte, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return nil, err
	}
	_, raw, err := p.conn.ReadMessage()
	if err != nil {
		return nil, fmt.Errorf("player: read: %w", err)
	}
	return raw, nil
}

// SetReadTimeout bounds all later reads of an AnsweringPlayer.
func (p *Player) SetReadTimeout(d time.Duration) error {
	return p.conn.SetReadDeadline(time.Now().Add(d))
}

// Close ends the connection without a close frame, as a lost network does.
func (p *Player) Close() error { return p.conn.Close() }

// ArbitraryAnswer returns a well-formed answer to a question of any kind. It is right only
// by chance.
func ArbitraryAnswer(q protocol.Question) protocol.Given {
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
