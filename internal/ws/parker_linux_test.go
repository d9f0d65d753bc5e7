package ws

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/protocol"
)

// parkImmediately makes a node interrupt sessions all the time. Call it before a client
// connects.
func (n *node) parkImmediately() {
	n.parker.quietAfter, n.parker.tickInterval = 0, time.Millisecond
}

// parkedCount returns the metric of parked sessions.
func (n *node) parkedCount() int { return int(testutil.ToFloat64(n.metrics.parked)) }

// connectUntilParked connects a player and waits until the session is parked.
func (n *node) connectUntilParked(player string) *client {
	n.Helper()
	c := n.connectPlayer(player)
	c.expectPong()
	n.eventually("the session is parked", func() bool { return n.isParked(n.session(player)) })
	return c
}

// isParked returns true if a session is parked.
func (n *node) isParked(se *session) bool {
	n.parker.mu.Lock()
	defer n.parker.mu.Unlock()
	return n.parker.isParked(se)
}

// A quiet session has no goroutine, however often it answers pings, and requests are
// answered as usual. When all sessions have ended, so has the poller. The test is not
// parallel: it counts goroutines of the process.
func TestParkedSessionsHaveNoGoroutine(t *testing.T) {
	const sessions = 50
	n := startNode(t)
	n.parkImmediately()
	var clients []*client
	for i := range sessions {
		clients = append(clients, n.connectPlayer(fmt.Sprint("player", i)))
	}
	awaitAllParked := func(moment string, minWakeups int) {
		t.Helper()
		n.eventually("all are parked "+moment, func() bool {
			return testutil.ToFloat64(n.metrics.wakeups) >= float64(minWakeups) && n.parkedCount() == sessions && countGoroutines("ws.(*session)") == 0
		})
	}
	awaitAllParked("after hello", 0)
	for round := range 3 {
		before := int(testutil.ToFloat64(n.metrics.wakeups))
		for _, c := range clients {
			_ = c.conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(clientTimeout))
		}
		awaitAllParked("after a pong", before+sessions)
		for _, c := range clients {
			c.sendRequest(protocol.TypePing, map[string]any{"at": round})
		}
		for _, c := range clients {
			c.expectReply(protocol.TypePong)
		}
		awaitAllParked("after a request", before+2*sessions)
	}
	for _, c := range clients {
		c.disconnect()
	}
	n.eventually("all sessions and the poller have ended", func() bool { return len(n.openSessions()) == 0 && countGoroutines("ws.(*poller)") == 0 })
	if n.parkedCount() != 0 || len(n.parker.slots) != 0 {
		t.Errorf("%d parked, %d slots left", n.parkedCount(), len(n.parker.slots))
	}
}

// A parked session ends once, like any other, if the client or the server ends it.
func TestParkedSessionsCanEnd(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
	endings := map[string]struct {
		code int // 0: no close frame
		end  func(c *client, player string)
	}{
		"closed":                        {4408, func(_ *client, p string) { n.session(p).close(4408, "") }},
		"drained":                       {1012, func(_ *client, p string) { n.session(p).closeForDrain() }},
		"replaced":                      {4409, func(_ *client, p string) { n.connectPlayer(p).disconnect() }},
		"newer session at another node": {4409, func(_ *client, p string) { n.CloseReplaced("demo", p, 1<<62) }},
		"silent":                        {4408, func(_ *client, p string) { n.session(p).lastReceived.Store(0); n.session(p).sendHeartbeat() }},
		"idle":                          {1013, func(_ *client, p string) { n.session(p).lastRequest.Store(0); n.CloseIdle() }},
		"aborted":                       {0, func(_ *client, p string) { n.session(p).abort() }},
		"write failed":                  {0, func(_ *client, p string) { _ = n.session(p).conn.Close(); n.session(p).Push("", []byte("{}")) }},
		"disconnected":                  {0, func(c *client, _ string) { c.disconnect() }},
		"close frame": {1000, func(c *client, _ string) {
			_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(clientTimeout))
		}},
	}
	for name, test := range endings {
		c := n.connectUntilParked(name)
		se := n.session(name)
		test.end(c, name)
		if test.code != 0 {
			c.expectClose(test.code)
		}
		n.eventually(name+": the session has ended", func() bool { return n.session(name) == nil && !n.isParked(se) })
	}
	n.eventually("all have ended", func() bool { return len(n.openSessions()) == 0 && n.parkedCount() == 0 })
}

// A drain unparks all parked sessions and sends them the draining push.
func TestParkedSessionsAreDrained(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
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

// A session with half a message is not parked. Interrupting it does not change the
// message's time limit.
func TestSessionIsNotParkedMidMessage(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
	n.messageTimeout = 200 * time.Millisecond
	c := n.connectUntilParked("slow")
	se := n.session("slow")
	raw := c.conn.NetConn()
	if _, err := raw.Write([]byte{finalBit | 1}); err != nil {
		t.Fatal(err)
	}
	n.eventually("the session is unparked", func() bool { return !n.isParked(se) })
	for range 20 {
		se.conn.interrupt()
		n.parker.interruptQuiet()
	}
	if n.isParked(se) {
		t.Error("the session is parked")
	}
	c.expectClose(4408)
}

// An event of an earlier parking unparks no session: neither the same session, parked
// again, nor the next session in the slot.
func TestStaleEventsAreIgnored(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
	var staleEvents []uint64
	for i := range 6 {
		player := fmt.Sprint("player", i)
		n.connectPlayer("stays" + player) // so that no slot is freed
		c := n.connectUntilParked(player)
		for range 3 {
			se := n.session(player)
			n.parker.mu.Lock()
			staleEvents = append(staleEvents, uint64(n.parker.slots[se.parkSlotNumber-1].generation)<<32|uint64(se.parkSlotNumber-1))
			n.parker.mu.Unlock()
			c.expectPong()
			n.eventually("the session is parked again", func() bool { return n.isParked(se) })
		}
		if i%2 == 0 {
			c.disconnect()
			n.eventually("the session has ended", func() bool { return n.session(player) == nil })
		}
	}
	n.eventually("all are parked", func() bool { return n.parkedCount() == len(n.openSessions()) })
	before := testutil.ToFloat64(n.metrics.wakeups)
	n.parker.handleEvents(append(staleEvents, 1<<31))
	if wakeups := testutil.ToFloat64(n.metrics.wakeups) - before; wakeups != 0 {
		t.Errorf("%v wakeups", wakeups)
	}
}

// If an older parking was armed late, it may have replaced the newer arming. The
// session is then unparked rather than lost.
func TestLateEventRequestUnparksSession(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
	n.connectUntilParked("ada")
	se := n.session("ada")
	n.parker.mu.Lock()
	generation, before := n.parker.slots[se.parkSlotNumber-1].generation, testutil.ToFloat64(n.metrics.wakeups)
	n.parker.mu.Unlock()
	if !n.parker.confirmParked(se, generation-1, nil) {
		t.Error("the loop of the earlier parking continues")
	}
	n.eventually("it was unparked and parked again", func() bool {
		return testutil.ToFloat64(n.metrics.wakeups) > before && n.isParked(se)
	})
}

// If the poller fails, all sessions run again and a new poller starts. If the system
// gives no poller, no session is parked, and all are served as usual.
func TestSessionsWorkWithoutPoller(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
	c := n.connectUntilParked("ada")
	n.parker.mu.Lock()
	failed := n.parker.poller
	_ = failed.file.Close()
	n.parker.mu.Unlock()
	n.eventually("a new poller has parked the session", func() bool {
		n.parker.mu.Lock()
		defer n.parker.mu.Unlock()
		return n.parker.poller != nil && n.parker.poller != failed && n.parker.parkedCount == 1
	})
	c.expectPong()
	nodeWithoutPoller := startNode(t)
	nodeWithoutPoller.parkImmediately()
	nodeWithoutPoller.parker.newPoller = func() (*poller, error) { return nil, errors.New("too many open files") }
	for i := range 3 {
		nodeWithoutPoller.connectPlayer(fmt.Sprint("player", i)).expectPong()
	}
	nodeWithoutPoller.parker.interruptQuiet()
	if nodeWithoutPoller.parkedCount() != 0 {
		t.Errorf("%d parked without a poller", nodeWithoutPoller.parkedCount())
	}
}

// If the system has no poller, or no room in it, running sessions are not interrupted
// again and again. Sessions that are parked stay so.
func TestParkingPausesWithoutResources(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
	n.connectUntilParked("ada")
	se := n.session("ada")
	n.parker.mu.Lock()
	generation := n.parker.slots[se.parkSlotNumber-1].generation
	n.parker.mu.Unlock()
	if n.parker.confirmParked(se, generation, syscall.ENOSPC) {
		t.Error("the session is parked although nothing polls its socket")
	}
	if quiet := n.parker.quietSessions(); len(quiet) > 0 || n.isParked(se) {
		t.Errorf("%d sessions would be interrupted without effect", len(quiet))
	}
	go se.run()
	n.connectPlayer("eve")
	n.eventually("a greeted session is parked", func() bool { return n.isParked(n.session("eve")) })
	nodeWithoutPoller := startNode(t)
	nodeWithoutPoller.parkImmediately()
	nodeWithoutPoller.parker.newPoller = func() (*poller, error) { return nil, syscall.EMFILE }
	nodeWithoutPoller.connectPlayer("ada").expectPong() // there was no poller after its hello
	if quiet := nodeWithoutPoller.parker.quietSessions(); len(quiet) > 0 {
		t.Errorf("%d sessions would be interrupted without a poller", len(quiet))
	}
}

// A client that sends pongs without pings does not unpark its session each time. The
// session stays unparked until the client is quiet.
func TestPongsDoNotUnparkSessionOften(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parker.quietAfter = time.Hour
	c := n.connectPlayer("ada")
	se := n.session("ada")
	n.eventually("it is parked after its hello", func() bool { return n.isParked(se) })
	wakeupsBefore := testutil.ToFloat64(n.metrics.wakeups)
	for range 3 {
		before := se.lastReceived.Load()
		n.eventually("a pong has arrived", func() bool {
			_ = c.conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(clientTimeout))
			return se.lastReceived.Load() > before
		})
		c.expectPong()
	}
	if wakeups := testutil.ToFloat64(n.metrics.wakeups) - wakeupsBefore; wakeups != 1 || n.isParked(se) {
		t.Errorf("%v wakeups", wakeups)
	}
}

// With TLS there is no raw connection, and each session keeps a goroutine.
func TestTLSSessionsAreNotParked(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	n.parkImmediately()
	site := httptest.NewTLSServer(n.Server)
	t.Cleanup(site.Close)
	tlsDialer := websocket.Dialer{TLSClientConfig: site.Client().Transport.(*http.Transport).TLSClientConfig}
	conn, response, err := tlsDialer.Dial("wss"+strings.TrimPrefix(site.URL, "https"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	c := &client{T: t, conn: conn}
	c.sendHello("ada", nil)
	c.expectReply(protocol.TypeWelcome)
	for range 3 {
		_ = conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(clientTimeout))
		c.expectPong()
		n.parker.interruptQuiet()
	}
	if se := n.session("ada"); se.parkSlotNumber != 0 || n.parkedCount() != 0 {
		t.Errorf("slot %d, %d parked", se.parkSlotNumber, n.parkedCount())
	}
	_, drained := n.startDrain()
	c.expectFrame(protocol.TypeDraining)
	c.expectClose(1012)
	<-drained
}

// Requests to sessions that are parked and unparked all the time, in pieces of any
// size, are answered once and in order. Each session ends once, whether the client or
// the server ends it.
func TestConcurrentParkingAndClosingLosesNoRequest(t *testing.T) {
	t.Parallel()
	const players, rounds, requestsPerRound = 24, 3, 25
	n := startNode(t)
	n.parkImmediately()
	var running sync.WaitGroup
	for i := range players {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for round := range rounds {
				player := fmt.Sprint("player", i)
				c := n.connectPlayer(player)
				for range requestsPerRound {
					c.pingInChunks(rng, n.session(player))
				}
				n.endSession(c, player, rng.IntN(6), round)
			}
		})
	}
	running.Wait()
	n.eventually("all have ended", func() bool { return len(n.openSessions()) == 0 && n.parkedCount() == 0 })
	if wakeups := testutil.ToFloat64(n.metrics.wakeups); wakeups < players*rounds {
		t.Errorf("%v wakeups", wakeups)
	}
}

// pingInChunks sends one to three pings with pongs between them, in pieces, while the
// session is interrupted.
func (c *client) pingInChunks(rng *rand.Rand, se *session) {
	c.Helper()
	var unsent []byte
	pings := 1 + rng.IntN(3)
	for range pings {
		c.lastRequestID++
		text := fmt.Sprintf(`{"id":%d,"type":"ping","data":{"at":%q}}`, c.lastRequestID, strings.Repeat("x", rng.IntN(60)))
		unsent = append(unsent, maskedFrame(finalBit|websocket.TextMessage, text)...)
		if rng.IntN(2) == 0 {
			unsent = append(unsent, maskedFrame(finalBit|websocket.PongMessage, "")...)
		}
	}
	for len(unsent) > 0 {
		n := 1 + rng.IntN(len(unsent))
		if _, err := c.conn.NetConn().Write(unsent[:n]); err != nil {
			c.failNow("%v", err)
		}
		unsent = unsent[n:]
		if rng.IntN(2) == 0 {
			se.conn.interrupt()
		}
	}
	for i := range pings {
		if f := c.expectFrame(protocol.TypePong); *f.Re != c.lastRequestID-int64(pings-1-i) {
			c.failNow("%s instead of the reply to %d", f.raw, c.lastRequestID)
		}
	}
}

// endSession ends a session in one of six ways, from both sides.
func (n *node) endSession(c *client, player string, way, round int) {
	se := n.session(player)
	switch way {
	case 0:
		c.disconnect()
	case 1:
		se.close(4408, "")
	case 2:
		go c.disconnect()
		se.closeForDrain()
	case 3:
		go se.abort()
		se.close(4408, "")
	case 4:
		go se.close(4408, "")
		n.connectPlayer(player).disconnect()
	case 5:
		_, _ = c.conn.NetConn().Write(maskedFrame(finalBit|websocket.TextMessage, `{"id":1,`)[:round+3])
		go se.closeForDrain()
		n.CloseReplaced("demo", player, 1<<62)
	}
	if way > 0 && way != 2 {
		for err := error(nil); err == nil; {
			_, err = c.read()
		}
		c.disconnect()
	}
	n.eventually("the session has ended", func() bool { return n.session(player) != se })
}
