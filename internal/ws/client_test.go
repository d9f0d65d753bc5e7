package ws

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// client is the other end of a websocket. Its methods end the goroutine that
// calls them, and fail the test, where something else comes than is said.
type client struct {
	*testing.T
	conn *websocket.Conn
	id   int64 // of the last request
}

// frame is one frame of the server.
type frame struct {
	Re    *int64          `json:"re"`
	Type  string          `json:"type"`
	Match string          `json:"match"`
	Seq   int64           `json:"seq"`
	Data  json.RawMessage `json:"data"`
	raw   []byte
}

// patience is how long a client waits for a frame that has to come.
const patience = 20 * time.Second

var dialer = websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, NetDial: func(network, addr string) (net.Conn, error) {
	conn, err := net.Dial(network, addr)
	if err == nil {
		_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	}
	return conn, err
}}

// dial connects without a word.
func (n *node) dial() *client {
	n.Helper()
	conn, response, err := dialer.Dial(n.url, nil)
	if err != nil {
		n.Error(err)
		n.FailNow()
	}
	_ = response.Body.Close()
	n.Cleanup(func() { _ = conn.Close() })
	return &client{T: n.T, conn: conn}
}

// enter connects a player and says hello.
func (n *node) enter(player string) *client {
	n.Helper()
	c, _ := n.resume(player, nil)
	return c
}

// resume connects a player who has been cut off.
func (n *node) resume(player string, from *protocol.Resume) (*client, protocol.Welcome) {
	n.Helper()
	c := n.dial()
	c.hello(player, from)
	var w protocol.Welcome
	c.reply(protocol.TypeWelcome).into(c.T, &w)
	return c, w
}

func (c *client) hello(player string, from *protocol.Resume) {
	c.Helper()
	c.ask(protocol.TypeHello, protocol.Hello{Token: playerToken(player), Resume: from})
}

func playerToken(player string) string {
	return token(identity.RolePlayer, player, now()+time.Hour.Milliseconds())
}

// ask sends a request with the next id.
func (c *client) ask(kind string, data any) {
	c.Helper()
	c.id++
	raw, err := json.Marshal(map[string]any{"id": c.id, "type": kind, "data": data})
	if err != nil {
		c.fail("%v", err)
	}
	c.say(string(raw))
}

// say sends a text frame as it is. What the server has closed by then is told
// by the next frame read.
func (c *client) say(text string) { _ = c.conn.WriteMessage(websocket.TextMessage, []byte(text)) }

// next reads a frame.
func (c *client) next() frame {
	c.Helper()
	f, err := c.read()
	if err != nil {
		c.fail("no frame: %v", err)
	}
	return f
}

func (c *client) read() (frame, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	_, raw, err := c.conn.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	f := frame{raw: raw}
	return f, json.Unmarshal(raw, &f)
}

// expect reads a frame of a type.
func (c *client) expect(kind string) frame {
	c.Helper()
	f := c.next()
	if f.Type != kind {
		c.fail("%s instead of %s", f.raw, kind)
	}
	return f
}

// until reads up to a frame of a type.
func (c *client) until(kind string) frame {
	c.Helper()
	for {
		if f := c.next(); f.Type == kind {
			return f
		}
	}
}

// reply reads the reply to the last request.
func (c *client) reply(kind string) frame {
	c.Helper()
	f := c.expect(kind)
	if f.Re == nil || *f.Re != c.id {
		c.fail("%s instead of the reply to %d", f.raw, c.id)
	}
	return f
}

// untilReply reads up to the reply to the last request.
func (c *client) untilReply() frame {
	c.Helper()
	for {
		if f := c.next(); f.Re != nil && *f.Re == c.id {
			return f
		}
	}
}

// refused reads the refusal of the last request.
func (c *client) refused(code protocol.Code) protocol.Error {
	c.Helper()
	return c.refusal(c.reply(protocol.TypeError), code)
}

func (c *client) refusal(f frame, code protocol.Code) protocol.Error {
	c.Helper()
	var e protocol.Error
	f.into(c.T, &e)
	if f.Type != protocol.TypeError || e.Code != code || e.Message == "" {
		c.fail("%s instead of the error %s", f.raw, code)
	}
	return e
}

// alive asks something that is always answered.
func (c *client) alive() {
	c.Helper()
	c.ask(protocol.TypePing, map[string]any{"at": 1})
	c.reply(protocol.TypePong)
}

// closes reads to the end, which has to be a close frame and no reset of the
// connection, and gives what came before.
func (c *client) closes(code int) (before []frame, reason string) {
	c.Helper()
	for {
		f, err := c.read()
		if err == nil {
			before = append(before, f)
			continue
		}
		var closed *websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != code {
			c.fail("%v instead of close %d", err, code)
		}
		if _, err := c.conn.NetConn().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			c.fail("after close %d: %v instead of the end", code, err)
		}
		_ = c.conn.Close()
		return before, closed.Text
	}
}

// cut drops the connection without a word.
func (c *client) cut() { _ = c.conn.Close() }

func (c *client) fail(format string, args ...any) {
	c.Helper()
	c.Errorf(format, args...)
	c.FailNow()
}

// into decodes the data of a frame.
func (f frame) into(t *testing.T, data any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(f.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(data); err != nil {
		t.Errorf("%s: %v", f.raw, err)
		t.FailNow()
	}
}

// number is a frame's own account of itself, for messages.
func (f frame) number() string { return fmt.Sprintf("%s %d", f.Type, f.Seq) }

// upgrade asks for a websocket from an origin and gives the status.
func (n *node) upgrade(origin string) int {
	n.Helper()
	conn, response, err := dialer.Dial(n.url, http.Header{"Origin": {origin}})
	if err == nil {
		_ = conn.Close()
	}
	if response == nil {
		n.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
