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

// client is the client's end of a websocket. If a frame is not the expected one, its
// methods fail the test and end the calling goroutine.
type client struct {
	*testing.T
	conn          *websocket.Conn
	lastRequestID int64 // id of the last request
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

// clientTimeout is how long a client waits for a frame.
const clientTimeout = 20 * time.Second

var dialer = websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, NetDial: func(network, addr string) (net.Conn, error) {
	conn, err := net.Dial(network, addr)
	if err == nil {
		_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	}
	return conn, err
}}

// dial connects and sends nothing.
func (n *node) dial() *client {
	n.Helper()
	return n.dialWith(nil)
}

func (n *node) dialWith(header http.Header) *client {
	n.Helper()
	conn, response, err := dialer.Dial(n.url, header)
	if err != nil {
		n.Error(err)
		n.FailNow()
	}
	_ = response.Body.Close()
	n.Cleanup(func() { _ = conn.Close() })
	return &client{T: n.T, conn: conn}
}

// connectPlayer connects a player and sends a hello.
func (n *node) connectPlayer(player string) *client {
	n.Helper()
	c, _ := n.connectAndResume(player, nil)
	return c
}

// connectAndResume connects a player who was disconnected.
func (n *node) connectAndResume(player string, resume *protocol.Resume) (*client, protocol.Welcome) {
	n.Helper()
	c := n.dialAndGreet(player, resume)
	var welcome protocol.Welcome
	c.expectReply(protocol.TypeWelcome).decodeInto(c.T, &welcome)
	return c, welcome
}

// dialAndGreet connects and sends a hello.
func (n *node) dialAndGreet(player string, resume *protocol.Resume) *client {
	n.Helper()
	c := n.dial()
	c.sendHello(player, resume)
	return c
}

func (c *client) sendHello(player string, resume *protocol.Resume) {
	c.Helper()
	c.sendRequest(protocol.TypeHello, protocol.Hello{Token: playerToken(player), Resume: resume})
}

func playerToken(player string) string {
	return token(identity.RolePlayer, player, now()+time.Hour.Milliseconds())
}

// sendRequest sends a request with the next id.
func (c *client) sendRequest(kind string, data any) {
	c.Helper()
	c.lastRequestID++
	raw, err := json.Marshal(map[string]any{"id": c.lastRequestID, "type": kind, "data": data})
	if err != nil {
		c.failNow("%v", err)
	}
	c.send(string(raw))
}

// send sends a text frame as it is. It ignores a closed connection, because the next
// read returns that error.
func (c *client) send(text string) { _ = c.conn.WriteMessage(websocket.TextMessage, []byte(text)) }

// nextFrame reads a frame.
func (c *client) nextFrame() frame {
	c.Helper()
	f, err := c.read()
	if err != nil {
		c.failNow("no frame: %v", err)
	}
	return f
}

func (c *client) read() (frame, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(clientTimeout))
	_, raw, err := c.conn.ReadMessage()
	if err != nil {
		return frame{}, err
	}
	f := frame{raw: raw}
	return f, json.Unmarshal(raw, &f)
}

// expectFrame reads a frame of a type.
func (c *client) expectFrame(kind string) frame {
	c.Helper()
	f := c.nextFrame()
	if f.Type != kind {
		c.failNow("%s instead of %s", f.raw, kind)
	}
	return f
}

// readUntil reads up to a frame of a type.
func (c *client) readUntil(kind string) frame {
	c.Helper()
	for {
		if f := c.nextFrame(); f.Type == kind {
			return f
		}
	}
}

// expectReply reads the reply to the last request.
func (c *client) expectReply(kind string) frame {
	c.Helper()
	f := c.expectFrame(kind)
	if f.Re == nil || *f.Re != c.lastRequestID {
		c.failNow("%s instead of the reply to %d", f.raw, c.lastRequestID)
	}
	return f
}

// readUntilReply reads up to the reply to the last request.
func (c *client) readUntilReply() frame {
	c.Helper()
	for {
		if f := c.nextFrame(); f.Re != nil && *f.Re == c.lastRequestID {
			return f
		}
	}
}

// request sends a request and reads its reply.
func (c *client) request(kind string, data any, reply string) frame {
	c.Helper()
	c.sendRequest(kind, data)
	return c.expectReply(reply)
}

// requestRefused sends a request and reads the error reply.
func (c *client) requestRefused(kind string, data any, code protocol.Code) protocol.Error {
	c.Helper()
	c.sendRequest(kind, data)
	return c.expectError(code)
}

// expectError reads the error reply to the last request.
func (c *client) expectError(code protocol.Code) protocol.Error {
	c.Helper()
	return c.checkError(c.expectReply(protocol.TypeError), code)
}

func (c *client) checkError(f frame, code protocol.Code) protocol.Error {
	c.Helper()
	var e protocol.Error
	f.decodeInto(c.T, &e)
	if f.Type != protocol.TypeError || e.Code != code || e.Message == "" {
		c.failNow("%s instead of the error %s", f.raw, code)
	}
	return e
}

// expectPong sends a ping, which is always answered, and reads the pong.
func (c *client) expectPong() {
	c.Helper()
	c.request(protocol.TypePing, map[string]any{"at": 1}, protocol.TypePong)
}

// expectClose reads to the end and returns the frames before it. The end must be a
// close frame and no reset of the connection.
func (c *client) expectClose(code int) (frames []frame, reason string) {
	c.Helper()
	for {
		f, err := c.read()
		if err == nil {
			frames = append(frames, f)
			continue
		}
		var closeErr *websocket.CloseError
		if !errors.As(err, &closeErr) || closeErr.Code != code {
			c.failNow("%v instead of close %d", err, code)
		}
		if _, err := c.conn.NetConn().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			c.failNow("after close %d: %v instead of the end", code, err)
		}
		_ = c.conn.Close()
		return frames, closeErr.Text
	}
}

// disconnect drops the connection without a close frame.
func (c *client) disconnect() { _ = c.conn.Close() }

func (c *client) failNow(format string, args ...any) {
	c.Helper()
	c.Errorf(format, args...)
	c.FailNow()
}

// decodeInto decodes the data of a frame.
func (f frame) decodeInto(t *testing.T, data any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(f.Data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(data); err != nil {
		t.Errorf("%s: %v", f.raw, err)
		t.FailNow()
	}
}

// label describes a frame in test messages.
func (f frame) label() string { return fmt.Sprintf("%s %d", f.Type, f.Seq) }

// upgrade requests a websocket with an Origin header and returns the HTTP status.
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
