package ws

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

func TestHelloGetsWelcome(t *testing.T) {
	n := startParallel(t)
	before := now()
	c, welcome := n.connectAndResume("ada", nil)
	if got := c.conn.Subprotocol(); got != protocol.Subprotocol {
		t.Errorf("subprotocol %q", got)
	}
	if welcome.ServerAt < before || welcome.ServerAt > now() || !strings.HasPrefix(welcome.Session, "s_") {
		t.Errorf("welcome %+v", welcome)
	}
	welcome.ServerAt, welcome.Session = 0, ""
	want := protocol.Welcome{Version: 1, PlayerID: "ada", Nickname: "Nick ada", Game: "demo", PingMS: 60_000}
	if welcome != want {
		t.Errorf("welcome %+v, want %+v", welcome, want)
	}
	c.requestRefused(protocol.TypeHello, protocol.Hello{Token: playerToken("ada")}, protocol.CodeBadRequest)
	c.expectPong()
}

// The first frame must be a valid hello; each fault closes with its code.
func TestFirstFrameMustBeValidHello(t *testing.T) {
	n := startParallel(t)
	hello := func(token string) string {
		return fmt.Sprintf(`{"id":1,"type":"hello","data":{"token":%q}}`, token)
	}
	for name, test := range map[string]struct {
		kind  int
		frame string
		code  int
	}{
		"not JSON":             {websocket.TextMessage, `hello`, 4400},
		"no object":            {websocket.TextMessage, `["hello"]`, 4400},
		"no type":              {websocket.TextMessage, `{"id":1,"data":{}}`, 4400},
		"type is not text":     {websocket.TextMessage, `{"id":1,"type":7}`, 4400},
		"broken UTF-8":         {websocket.TextMessage, "{\"id\":1,\"type\":\"hello\",\"x\xff\":1}", 4400},
		"binary":               {websocket.BinaryMessage, hello(playerToken("eve")), 4400},
		"other type":           {websocket.TextMessage, `{"id":1,"type":"ping","data":{"at":1}}`, 4400},
		"hello without an id":  {websocket.TextMessage, `{"type":"hello","data":{"token":"x"}}`, 4400},
		"unknown field":        {websocket.TextMessage, `{"id":1,"type":"hello","data":{"token":"x","game":"demo"}}`, 4400},
		"unknown envelope":     {websocket.TextMessage, `{"id":1,"type":"hello","data":{"token":"x"},"v":1}`, 4400},
		"resume not an object": {websocket.TextMessage, `{"id":1,"type":"hello","data":{"token":"x","resume":"m_1"}}`, 4400},
		"unknown resume":       {websocket.TextMessage, `{"id":1,"type":"hello","data":{"token":"x","resume":{"match":"m","seq":1,"at":2}}}`, 4400},
		"bad token":            {websocket.TextMessage, hello("forged"), 4401},
		"no token":             {websocket.TextMessage, `{"id":1,"type":"hello"}`, 4400},
		"resume without seq":   {websocket.TextMessage, `{"id":1,"type":"hello","data":{"token":"x","resume":{"match":"m"}}}`, 4400},
		"service":              {websocket.TextMessage, hello(token(identity.RoleService, "eve", now()+1e6)), 4403},
		"admin":                {websocket.TextMessage, hello(token(identity.RoleAdmin, "eve", now()+1e6)), 4403},
		"oversized":            {websocket.TextMessage, hello(strings.Repeat("x", protocol.MaxFrame)), 1009},
		"huge":                 {websocket.TextMessage, hello(strings.Repeat("x", 1<<20)), 1009},
		"identity unreachable": {websocket.TextMessage, hello("unreachable"), 1013},
		"identity panics":      {websocket.TextMessage, hello(playerToken("poison")), 1013},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := n.dial()
			if err := c.conn.WriteMessage(test.kind, []byte(test.frame)); err != nil {
				t.Fatal(err)
			}
			if frames, reason := c.expectClose(test.code); len(frames) > 0 || reason == "" {
				t.Errorf("frames %v before, reason %q", frames, reason)
			}
		})
	}
}

// The largest frame that is allowed arrives in one piece and in two.
func TestLargestFrameIsAccepted(t *testing.T) {
	n := startParallel(t)
	c := n.connectPlayer("ada")
	head, tail := `{"id":9,"type":"ping","data":{"at":"`, `"}}`
	full := head + strings.Repeat("x", protocol.MaxFrame-len(head)-len(tail)) + tail
	c.lastRequestID = 9
	c.send(full)
	c.expectReply(protocol.TypePong)
	writer, err := c.conn.NextWriter(websocket.TextMessage)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{full[:2000], full[2000:]} {
		if _, err := writer.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	c.expectReply(protocol.TypePong)
	c.send(full + " ")
	c.expectClose(1009)
}

func TestSessionWithoutHelloIsClosed(t *testing.T) {
	n := startParallel(t)
	n.helloTimeout = 50 * time.Millisecond
	n.dial().expectClose(4408)
}

// A hello that was sent in time is answered, even if handling it takes long.
func TestSlowHelloIsAnswered(t *testing.T) {
	n := startParallel(t)
	n.helloTimeout = 300 * time.Millisecond
	n.identity.ensureMayReturn = make(chan struct{})
	c := n.dialAndGreet("ada", nil)
	for range 2 { // later connections without a hello are closed
		n.dial().expectClose(4408)
	}
	close(n.identity.ensureMayReturn)
	c.expectReply(protocol.TypeWelcome)
	c.expectPong()
}

func TestExpiredTokenClosesSession(t *testing.T) {
	n := startParallel(t)
	c := n.dial()
	expiresAt := now() + 500
	c.request(protocol.TypeHello, protocol.Hello{Token: token(identity.RolePlayer, "ada", expiresAt)}, protocol.TypeWelcome)
	c.expectClose(4401)
	if delayMS := now() - expiresAt; delayMS < 0 {
		t.Errorf("closed %d ms before the token expired", -delayMS)
	}
}

// Any frame of the client keeps a session open. A client that sends nothing is closed.
func TestSilentClientIsClosed(t *testing.T) {
	n := startParallel(t, func(c *Config, _ *lobby.DuelSettings) { c.PingInterval = 400 * time.Millisecond })
	for name, newAnswer := range map[string]func(c *client) func(string) error{
		"pong": func(c *client) func(string) error { return c.conn.PingHandler() },
		"ping": func(c *client) func(string) error {
			return func(string) error {
				return c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(clientTimeout))
			}
		},
		"text": func(c *client) func(string) error {
			return func(string) error { c.send(`{"id":1,"type":"ping","data":{"at":0}}`); return nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := n.connectPlayer(name)
			answerPing, pings := newAnswer(c), 0
			c.conn.SetPingHandler(func(data string) error {
				if pings++; pings == 6 {
					c.sendRequest(protocol.TypeDuelLeave, protocol.Empty{})
				}
				return answerPing(data)
			})
			c.readUntil(protocol.TypeDuelLeft)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		c := n.connectPlayer("nothing")
		pings := 0
		c.conn.SetPingHandler(func(string) error { pings++; return nil })
		c.expectClose(4408)
		if pings < 1 || pings > 2 {
			t.Errorf("closed after %d pings, want 1 or 2", pings)
		}
	})
}

// The close frame arrives even if the client has sent more than was read.
func TestTheCloseFrameArrivesDespiteUnreadBytes(t *testing.T) {
	n := startParallel(t)
	for range 50 {
		c := n.connectPlayer("ada")
		c.send("{")
		for range 20 {
			c.send(`{"id":1,"type":"ping","data":{"at":"` + string(bytes.Repeat([]byte("x"), 3000)) + `"}}`)
		}
		if frames, _ := c.expectClose(4400); len(frames) > 0 {
			t.Fatalf("%s before the close frame", frames[0].raw)
		}
	}
}
