package players

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// Player is a connected player. It is not safe for concurrent use.
type Player struct {
	Guest
	Welcome     protocol.Welcome
	ClockLeadMS int64 // cluster time is at most this far ahead of this machine's clock
	conn        *websocket.Conn
	lastID      int64        // id of the last request
	sent        []byte       // reused: the last frame of SendJSON
	received    bytes.Buffer // reused: the last frame of readReused
}

// defaultBuffer holds the few frames that follow the end of a question.
const defaultBuffer = 4096

// askTimeout limits the wait for the reply of Ask, and for a welcome if the context has no deadline.
const askTimeout = 30 * time.Second

// Connect connects a guest and says hello; resume may be nil.
func Connect(ctx context.Context, server string, g Guest, resume *protocol.Resume) (*Player, error) {
	return Dialer{}.Connect(ctx, server, g, resume)
}

// Dialer configures how a player connects; the zero value is valid.
type Dialer struct {
	LocalDialer *net.Dialer // nil: any address
	Buffer      int         // size of the read buffer in bytes; 0: enough for the end of a question
	Origin      string      // of a page; "": none
	Compression bool        // offer compression, which a server must refuse
}

// Connect connects a guest and says hello; resume may be nil.
func (d Dialer) Connect(ctx context.Context, server string, g Guest, resume *protocol.Resume) (*Player, error) {
	p, _, err := d.Open(ctx, server)
	if err != nil {
		return nil, err
	}
	p.Guest = g
	if err := p.hello(ctx, resume); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Open connects without a hello. It returns the status with which the server answered, 0 if it did
// not.
func (d Dialer) Open(ctx context.Context, server string) (p *Player, status int, err error) {
	buffer, header := cmp.Or(d.Buffer, defaultBuffer), http.Header{}
	dialer := websocket.Dialer{
		NetDialContext: cmp.Or(d.LocalDialer, new(net.Dialer)).DialContext, Subprotocols: []string{protocol.Subprotocol},
		ReadBufferSize: buffer, WriteBufferSize: min(buffer, 1024), EnableCompression: d.Compression,
	}
	if d.Origin != "" {
		header.Set("Origin", d.Origin)
	}
	conn, answer, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(server, "http")+"/v1/ws", header)
	if answer != nil {
		status = answer.StatusCode
		_ = answer.Body.Close()
	}
	if err != nil {
		return nil, status, fmt.Errorf("players: connect: %w", err)
	}
	return &Player{conn: conn}, status, nil
}

func (p *Player) hello(ctx context.Context, resume *protocol.Resume) (err error) {
	defer testenv.Recover(&err)
	sentAt, timeout := time.Now(), askTimeout
	if until, ok := ctx.Deadline(); ok {
		timeout = time.Until(until)
	}
	testenv.Must(p.Send(protocol.TypeHello, protocol.Hello{Token: p.Token, Resume: resume}))
	f := testenv.Must(p.Read(timeout))
	testenv.FailIf(f.Type != protocol.TypeWelcome, "players: hello was answered with %s", f.Raw)
	testenv.MustDo(json.Unmarshal(f.Data, &p.Welcome))
	p.ClockLeadMS = p.Welcome.ServerAt - sentAt.UnixMilli()
	return nil
}

// Send sends a request and returns its id.
func (p *Player) Send(kind string, data any) (id int64, err error) {
	defer testenv.Recover(&err)
	return p.SendJSON(kind, testenv.Must(json.Marshal(data)))
}

// SendJSON sends a request whose data is already JSON, and returns its id.
func (p *Player) SendJSON(kind string, data []byte) (int64, error) {
	p.lastID++
	p.sent = append(strconv.AppendInt(append(p.sent[:0], `{"id":`...), p.lastID, 10), `,"type":"`...)
	p.sent = append(append(append(p.sent, kind...), `","data":`...), data...)
	p.sent = append(p.sent, '}')
	return p.lastID, p.conn.WriteMessage(websocket.TextMessage, p.sent)
}

// Ask sends a request, skips all frames before its reply, and returns an error if the reply
// is one.
func (p *Player) Ask(kind string, data any) (err error) {
	defer testenv.Recover(&err)
	id := testenv.Must(p.Send(kind, data))
	f := testenv.Must(p.Read(askTimeout))
	for f.Re == nil || *f.Re != id {
		f = testenv.Must(p.Read(askTimeout))
	}
	testenv.FailIf(f.Type == protocol.TypeError, "%s was answered with %s", kind, f.Raw)
	return nil
}

// Read waits for the next frame.
func (p *Player) Read(timeout time.Duration) (checker.Frame, error) {
	raw, err := p.ReadRaw(timeout)
	if err != nil {
		return checker.Frame{}, err
	}
	f := checker.Frame{ReceivedAt: time.Now(), Raw: raw}
	return f, json.Unmarshal(raw, &f)
}

// ReadRaw waits for the next frame and returns it undecoded.
func (p *Player) ReadRaw(timeout time.Duration) ([]byte, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return nil, err
	}
	_, raw, err := p.conn.ReadMessage()
	if err != nil {
		return nil, fmt.Errorf("players: read: %w", err)
	}
	return raw, nil
}

// readReused waits for the next frame without a deadline of its own. The result is valid
// until the next call.
func (p *Player) readReused() ([]byte, error) {
	_, frame, err := p.conn.NextReader()
	if err != nil {
		return nil, fmt.Errorf("players: read: %w", err)
	}
	p.received.Reset()
	if _, err := p.received.ReadFrom(frame); err != nil {
		return nil, fmt.Errorf("players: read: %w", err)
	}
	return p.received.Bytes(), nil
}

// NetConn returns the connection below the websocket.
func (p *Player) NetConn() net.Conn { return p.conn.NetConn() }

// Close ends the connection without a close frame, as a lost network does.
func (p *Player) Close() error { return p.conn.Close() }

// PerAddress is how many connections should come from one address. After thousands of
// connections from one address, the system needs a millisecond to find a free port. A
// node that is more than half full accepts only a hundred clients of one address that
// are in no match. Only a hundred clients of one address may try arena codes at once,
// before one was right.
const PerAddress = 50

// FromAddress returns a dialer that connects from the nth loopback address, of 16 million.
func FromAddress(n int) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, byte(n/62500), byte(n/250%250), byte(1+n%250))}}
}
