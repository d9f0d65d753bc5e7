package ws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// visitLog is a PlayerReporter that records in order "+PLAYER N PI" and "-PLAYER N"; N counts
// the visits.
type visitLog struct {
	mu      sync.Mutex
	lines   []string
	started int
}

func (l *visitLog) Enter(game, player, pi string) func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started++
	number := l.started
	l.lines = append(l.lines, strings.TrimSpace(fmt.Sprintf("+%s/%s %d %s", game, player, number, pi)))
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, fmt.Sprintf("-%s/%s %d", game, player, number))
	}
}

func (l *visitLog) entries() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// allEnded returns true if every visit has ended exactly once.
func (l *visitLog) allEnded() bool {
	var started, ended []string
	for _, line := range l.entries() {
		visit := strings.Join(strings.Fields(line[1:])[:2], " ")
		if line[0] == '+' {
			started = append(started, visit)
		} else {
			ended = append(ended, visit)
		}
	}
	slices.Sort(started)
	slices.Sort(ended)
	return slices.Equal(started, ended)
}

// startWithVisitLog starts a node with a visitLog for a test that runs in parallel with others.
func startWithVisitLog(t *testing.T, options ...func(*Config, *lobby.DuelSettings)) (*node, *visitLog) {
	visits := new(visitLog)
	return startParallel(t, append(options, func(c *Config, _ *lobby.DuelSettings) { c.Reporter = visits })...), visits
}

func (n *node) expectVisits(visits *visitLog, want ...string) {
	n.Helper()
	n.eventually(fmt.Sprintf("%q; it is %q", want, visits.entries()), func() bool { return slices.Equal(visits.entries(), want) })
}

// A visit ends when its session ends, for any reason.
func TestVisitEndsWithSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(n *node, c *client){
		"closed by the client": func(_ *node, c *client) {
			_ = c.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
		},
		"disconnected": func(_ *node, c *client) { c.disconnect() },
		"silent": func(n *node, c *client) { // as when a lost connection is detected late
			n.session("ada").closeForMissingHello()
			c.expectClose(protocol.CloseSilent)
		},
		"too fast": func(n *node, c *client) {
			n.session("ada").closeAfterQueued(protocol.CloseTooFast, "")
			c.expectClose(protocol.CloseTooFast)
		},
		"drained": func(n *node, _ *client) { n.drainNow() },
	} {
		t.Run(name, func(t *testing.T) {
			n, visits := startWithVisitLog(t)
			c := n.connectPlayer("ada")
			n.expectVisits(visits, "+demo/ada 1")
			end(n, c)
			n.expectVisits(visits, "+demo/ada 1", "-demo/ada 1")
		})
	}
}

// A handler that panics ends no visit. A panic in the hello ends it with the session.
func TestVisitContinuesAfterPanic(t *testing.T) {
	n, visits := startWithVisitLog(t)
	c := n.connectPlayer("ada")
	n.arenas.setResult(func(context.Context) error { panic("a secret") })
	c.requestRefused(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: "a_1"}, protocol.CodeInternal)
	c.expectPong()
	n.expectVisits(visits, "+demo/ada 1")
	c.disconnect()
	n.expectVisits(visits, "+demo/ada 1", "-demo/ada 1")
	panicking := n.dialAndGreet("poison", nil)
	panicking.expectClose(protocol.CloseOverloaded)
	n.expectVisits(visits, "+demo/ada 1", "-demo/ada 1")
}

// Only greeted players visit, verified players with their pi.
func TestOnlyGreetedPlayersHaveVisits(t *testing.T) {
	n, visits := startWithVisitLog(t)
	host, _ := n.connectHost("h")
	refused := n.dial()
	refused.sendRequest(protocol.TypeHello, protocol.Hello{Token: "forged"})
	refused.expectClose(protocol.CloseUnauthorized)
	n.dial().disconnect()
	verified := n.dial()
	verified.request(protocol.TypeHello, protocol.Hello{Token: playerToken("ada") + "/pi:1fffbj"}, protocol.TypeWelcome)
	n.expectVisits(visits, "+demo/ada 1 1fffbj")
	host.disconnect()
	verified.disconnect()
	n.expectVisits(visits, "+demo/ada 1 1fffbj", "-demo/ada 1")
}

// A session that replaces another, here or at another node, is a new visit, and the
// former visit ends.
func TestReplacingSessionStartsNewVisit(t *testing.T) {
	n, visits := startWithVisitLog(t)
	nodes := []*node{n, n, n.addNode()}
	var clients []*client
	for _, visitedNode := range nodes {
		clients = append(clients, visitedNode.connectPlayer("ada"))
	}
	for _, former := range clients[:2] {
		former.expectClose(protocol.CloseReplaced)
	}
	n.eventually("two visits have ended", func() bool { return len(visits.entries()) == 5 })
	lines := visits.entries()
	for _, ended := range []string{"-demo/ada 1", "-demo/ada 2"} {
		if !slices.Contains(lines, ended) {
			t.Errorf("%q without %q", lines, ended)
		}
	}
	clients[2].disconnect()
	n.eventually("all visits have ended", visits.allEnded)
}

// With many short sessions, every visit that starts also ends.
func TestVisitsOfShortSessionsEnd(t *testing.T) {
	n, visits := startWithVisitLog(t, func(c *Config, _ *lobby.DuelSettings) { c.PingInterval = 50 * time.Millisecond })
	other := n.addNode()
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			for try := range 10 {
				c := []*node{n, other}[(i+try)%2].dial()
				c.sendHello(fmt.Sprint("p", i%3), nil)
				if try%2 == 0 {
					_, _ = c.read()
				}
				c.disconnect()
			}
		})
	}
	running.Wait()
	n.eventually("all have ended", func() bool { return len(n.openSessions())+len(other.openSessions()) == 0 && visits.allEnded() })
	if len(visits.entries()) == 0 {
		t.Error("no visit was recorded")
	}
}

// A drained node has ended all visits.
func TestDrainEndsVisits(t *testing.T) {
	n, visits := startWithVisitLog(t)
	n.startFoundDuel()
	for i := range 10 {
		n.connectPlayer(fmt.Sprint("p", i))
	}
	n.drainNow()
	if lines := visits.entries(); len(lines) != 24 || !visits.allEnded() {
		t.Errorf("after the drain: %q", lines)
	}
}
