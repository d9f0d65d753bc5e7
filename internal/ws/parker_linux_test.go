package ws

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
	"laststand/internal/wsconn"
)

// parkImmediately makes a node park sessions all the time. Call it before a client connects.
func (n *node) parkImmediately() {
	n.changeParker(func(c *wsconn.Config) { c.QuietAfter = time.Millisecond })
}

// changeParker gives a node another parker. Call it before a client connects.
func (n *node) changeParker(change func(*wsconn.Config)) {
	config := n.parker.Config
	change(&config)
	n.parker.Close()
	n.parker = wsconn.NewParker(config)
}

// parkedCount returns the metric of parked sessions.
func (n *node) parkedCount() int { return int(testutil.ToFloat64(n.metrics.parked)) }

// A session parks after its hello, and after a request when the client is quiet. A parked
// session has no goroutine, and requests are answered as usual. The test is not parallel:
// it counts goroutines of the process.
func TestParkedSessionsHaveNoGoroutine(t *testing.T) { //nolint:paralleltest // see above
	const sessions = 50
	n := startNode(t)
	n.parkImmediately()
	var clients []*client
	for i := range sessions {
		clients = append(clients, n.connectPlayer(fmt.Sprint("player", i)))
	}
	awaitAllParked := func(moment string) {
		t.Helper()
		n.eventually("all are parked "+moment, func() bool { return n.parkedCount() == sessions && countGoroutines("ws.(*session)") == 0 })
	}
	awaitAllParked("after hello")
	for round := range 3 {
		for _, c := range clients {
			_ = c.conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(clientTimeout))
			c.sendRequest(protocol.TypePing, map[string]any{"at": round})
		}
		for _, c := range clients {
			c.expectReply(protocol.TypePong)
		}
		awaitAllParked("after a request")
	}
	for _, c := range clients {
		c.disconnect()
	}
	n.eventually("all sessions have ended", func() bool { return len(n.openSessions()) == 0 && n.parkedCount() == 0 })
}

// A session parks at once after its hello, before it is quiet.
func TestSessionParksAfterItsHello(t *testing.T) {
	n := startParallel(t)
	n.changeParker(func(c *wsconn.Config) { c.QuietAfter = time.Hour })
	n.connectPlayer("ada")
	n.eventually("it is parked", func() bool { return n.parkedCount() == 1 })
}

// A parked session ends once, like any other, if the client or the server ends it.
func TestParkedSessionsCanEnd(t *testing.T) {
	n := startParallel(t)
	n.parkImmediately()
	endings := map[string]struct {
		code int // 0: no close frame
		end  func(c *client, player string)
	}{
		"closed":                        {4408, func(_ *client, p string) { n.session(p).close(4408, "") }},
		"drained":                       {1012, func(_ *client, p string) { n.session(p).closeForDrain() }},
		"replaced":                      {4409, func(_ *client, p string) { n.connectPlayer(p).disconnect() }},
		"newer session at another node": {4409, func(_ *client, p string) { n.CloseReplaced("demo", p, 1<<62) }},
		"token expired":                 {4401, func(_ *client, p string) { se := n.session(p); se.claims.ExpiresAt = 0; se.sendHeartbeat() }},
		"idle":                          {1013, func(_ *client, p string) { n.session(p).lastRequest.Store(0); n.CloseIdle() }},
		"aborted":                       {0, func(_ *client, p string) { n.session(p).abort() }},
		"write failed":                  {0, func(_ *client, p string) { se := n.session(p); se.conn.Close(); se.Push("", []byte("{}")) }},
		"disconnected":                  {0, func(c *client, _ string) { c.disconnect() }},
		"close frame": {1000, func(c *client, _ string) {
			_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(clientTimeout))
		}},
	}
	for name, test := range endings {
		c := n.connectPlayer(name)
		c.expectPong()
		n.eventually("the session is parked", func() bool { return n.parkedCount() == 1 })
		test.end(c, name)
		if test.code != 0 {
			c.expectClose(test.code)
		}
		n.eventually(name+": the session has ended", func() bool { return len(n.openSessions()) == 0 && n.parkedCount() == 0 })
	}
}

// A drain unparks all parked sessions and sends them the draining push.
func TestParkedSessionsAreDrained(t *testing.T) {
	n := startParallel(t)
	n.parkImmediately()
	n.parker.CloseTimeout = clientTimeout // so many clients take long to reply on a busy machine
	var clients []*client
	for i := range 100 {
		clients = append(clients, n.connectPlayer(fmt.Sprint("player", i)))
	}
	n.eventually("all are parked", func() bool { return n.parkedCount() == len(clients) })
	_, drained := n.startDrain()
	var running sync.WaitGroup
	for _, c := range clients {
		running.Go(func() {
			c.expectFrame(protocol.TypeDraining)
			c.expectClose(1012)
		})
	}
	running.Wait()
	<-drained
	if n.parkedCount() != 0 {
		t.Errorf("%d still parked", n.parkedCount())
	}
}
