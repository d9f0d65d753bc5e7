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

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/protocol"
)

// visitLog is a Visits that records in order "+PLAYER N PI" and "-PLAYER N"; N counts
// the visits.
type visitLog struct {
	mu    sync.Mutex
	lines []string
	count int
}

func (g *visitLog) Enter(game, player, pi string) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
	number := g.count
	g.lines = append(g.lines, strings.TrimSpace(fmt.Sprintf("+%s/%s %d %s", game, player, number, pi)))
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.lines = append(g.lines, fmt.Sprintf("-%s/%s %d", game, player, number))
	}
}

func (g *visitLog) entries() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.lines)
}

// hasEnded returns true if every visit has ended exactly once.
func (g *visitLog) hasEnded() bool {
	var began, ended []string
	for _, line := range g.entries() {
		visit := strings.Join(strings.Fields(line[1:])[:2], " ")
		if line[0] == '+' {
			began = append(began, visit)
		} else {
			ended = append(ended, visit)
		}
	}
	slices.Sort(began)
	slices.Sort(ended)
	return slices.Equal(began, ended)
}

// startWithVisitLog starts a node with a visitLog.
func startWithVisitLog(t *testing.T, tune ...func(*Config, *lobby.DuelSettings)) (*node, *visitLog) {
	g := new(visitLog)
	return startNode(t, append(tune, func(c *Config, _ *lobby.DuelSettings) { c.Visits = g })...), g
}

func (n *node) expectVisits(g *visitLog, want ...string) {
	n.Helper()
	n.eventually(fmt.Sprintf("%q; it is %q", want, g.entries()), func() bool { return slices.Equal(g.entries(), want) })
}

// A visit ends when its session ends, for any reason.
func TestAVisitIsReported(t *testing.T) {
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
			t.Parallel()
			n, g := startWithVisitLog(t)
			c := n.connectPlayer("ada")
			n.expectVisits(g, "+demo/ada 1")
			end(n, c)
			n.expectVisits(g, "+demo/ada 1", "-demo/ada 1")
		})
	}
}

// A handler that panics ends no visit. A panic in the hello ends it with the session.
func TestAVisitContinuesAfterAPanic(t *testing.T) {
	t.Parallel()
	n, g := startWithVisitLog(t)
	c := n.connectPlayer("ada")
	n.arenas.set(func(context.Context) error { panic("a secret") })
	c.sendRequest(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: "a_1"})
	c.expectError(protocol.CodeInternal)
	c.expectPong()
	n.expectVisits(g, "+demo/ada 1")
	c.disconnect()
	n.expectVisits(g, "+demo/ada 1", "-demo/ada 1")
	wrong := n.dial()
	wrong.sendHello("poison", nil)
	wrong.expectClose(protocol.CloseOverloaded)
	n.expectVisits(g, "+demo/ada 1", "-demo/ada 1")
}

// Only greeted players visit, verified players with their pi.
func TestOnlyGreetedPlayersHaveVisits(t *testing.T) {
	t.Parallel()
	n, g := startWithVisitLog(t)
	host := n.dial()
	host.sendRequest(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, "h", now()+1e6)})
	host.expectReply(protocol.TypeWelcome)
	refused := n.dial()
	refused.sendRequest(protocol.TypeHello, protocol.Hello{Token: "forged"})
	refused.expectClose(protocol.CloseUnauthorized)
	n.dial().disconnect()
	verified := n.dial()
	verified.sendRequest(protocol.TypeHello, protocol.Hello{Token: playerToken("ada") + "/pi:1fffbj"})
	verified.expectReply(protocol.TypeWelcome)
	n.expectVisits(g, "+demo/ada 1 1fffbj")
	host.disconnect()
	verified.disconnect()
	n.expectVisits(g, "+demo/ada 1 1fffbj", "-demo/ada 1")
}

// A session that replaces another, here or at another node, is a new visit, and the
// former visit ends.
func TestVisitsOfReplacedSessions(t *testing.T) {
	t.Parallel()
	n, g := startWithVisitLog(t)
	nodes := []*node{n, n, n.node()}
	var clients []*client
	for _, at := range nodes {
		clients = append(clients, at.connectPlayer("ada"))
	}
	for _, former := range clients[:2] {
		former.expectClose(protocol.CloseReplaced)
	}
	n.eventually("two visits have ended", func() bool { return len(g.entries()) == 5 })
	lines := g.entries()
	for _, ended := range []string{"-demo/ada 1", "-demo/ada 2"} {
		if !slices.Contains(lines, ended) {
			t.Errorf("%q without %q", lines, ended)
		}
	}
	clients[2].disconnect()
	n.eventually("all visits have ended", g.hasEnded)
}

// With many short sessions, every visit that starts also ends.
func TestVisitsOfShortSessions(t *testing.T) {
	t.Parallel()
	n, g := startWithVisitLog(t, func(c *Config, _ *lobby.DuelSettings) { c.PingInterval = 50 * time.Millisecond })
	other := n.node()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
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
	all.Wait()
	n.eventually("all have ended", func() bool { return len(n.openSessions())+len(other.openSessions()) == 0 && g.hasEnded() })
	if len(g.entries()) == 0 {
		t.Error("no visit was recorded")
	}
}

// A drained node has ended all visits.
func TestADrainEndsVisits(t *testing.T) {
	t.Parallel()
	n, g := startWithVisitLog(t)
	playerA, playerB := n.duel("d")
	playerA.expectFrame(protocol.TypeMatchFound)
	playerB.expectFrame(protocol.TypeMatchFound)
	for i := range 10 {
		n.connectPlayer(fmt.Sprint("p", i))
	}
	n.drainNow()
	if lines := g.entries(); len(lines) != 24 || !g.hasEnded() {
		t.Errorf("after the drain: %q", lines)
	}
}
