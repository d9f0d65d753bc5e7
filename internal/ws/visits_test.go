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

// guestbook is a Visits that keeps who came and went, in order: "+PLAYER PI N"
// and "-PLAYER N", N counting the visits.
type guestbook struct {
	mu    sync.Mutex
	lines []string
	count int
}

func (g *guestbook) Enter(game, player, pi string) func() {
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

func (g *guestbook) read() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.lines)
}

// ended says whether every visit has ended, and was not ended twice.
func (g *guestbook) ended() bool {
	var came, went []string
	for _, line := range g.read() {
		visit := strings.Join(strings.Fields(line[1:])[:2], " ")
		if line[0] == '+' {
			came = append(came, visit)
		} else {
			went = append(went, visit)
		}
	}
	slices.Sort(came)
	slices.Sort(went)
	return slices.Equal(came, went)
}

// open starts a node with a guestbook.
func open(t *testing.T, tune ...func(*Config, *lobby.Duel)) (*node, *guestbook) {
	g := new(guestbook)
	return start(t, append(tune, func(c *Config, _ *lobby.Duel) { c.Visits = g })...), g
}

func (n *node) reads(g *guestbook, want ...string) {
	n.Helper()
	n.eventually(fmt.Sprintf("%q; it is %q", want, g.read()), func() bool { return slices.Equal(g.read(), want) })
}

// A visit is as long as a session, however it ends.
func TestVisit(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(n *node, c *client){
		"closed by the client": func(_ *node, c *client) {
			_ = c.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
		},
		"cut off": func(_ *node, c *client) { c.cut() },
		"silent": func(n *node, c *client) { // as a cut that is found late
			n.session("ada").tooSilent()
			c.closes(protocol.CloseSilent)
		},
		"too fast": func(n *node, c *client) {
			n.session("ada").closeAfter(protocol.CloseTooFast, "")
			c.closes(protocol.CloseTooFast)
		},
		"drained": func(n *node, _ *client) { n.end() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, g := open(t)
			c := n.enter("ada")
			n.reads(g, "+demo/ada 1")
			end(n, c)
			n.reads(g, "+demo/ada 1", "-demo/ada 1")
		})
	}
}

// A handler that panics ends no visit, one that panics in its hello ends it
// with the session.
func TestVisitThroughAPanic(t *testing.T) {
	t.Parallel()
	n, g := open(t)
	c := n.enter("ada")
	n.arenas.set(func(context.Context) error { panic("a secret") })
	c.ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: "a_1"})
	c.refused(protocol.CodeInternal)
	c.alive()
	n.reads(g, "+demo/ada 1")
	c.cut()
	n.reads(g, "+demo/ada 1", "-demo/ada 1")
	wrong := n.dial()
	wrong.hello("poison", nil)
	wrong.closes(protocol.CloseOverloaded)
	n.reads(g, "+demo/ada 1", "-demo/ada 1")
}

// Only players who were greeted visit; the verified ones by their pi.
func TestWhoVisits(t *testing.T) {
	t.Parallel()
	n, g := open(t)
	host := n.dial()
	host.ask(protocol.TypeHello, protocol.Hello{Token: token(identity.RoleHost, "h", now()+1e6)})
	host.reply(protocol.TypeWelcome)
	refused := n.dial()
	refused.ask(protocol.TypeHello, protocol.Hello{Token: "forged"})
	refused.closes(protocol.CloseUnauthorized)
	n.dial().cut()
	verified := n.dial()
	verified.ask(protocol.TypeHello, protocol.Hello{Token: playerToken("ada") + "/pi:1fffbj"})
	verified.reply(protocol.TypeWelcome)
	n.reads(g, "+demo/ada 1 1fffbj")
	host.cut()
	verified.cut()
	n.reads(g, "+demo/ada 1 1fffbj", "-demo/ada 1")
}

// A session that replaces another, here or at another node, is a visit of its
// own, and the former's ends.
func TestVisitsOfReplacedSessions(t *testing.T) {
	t.Parallel()
	n, g := open(t)
	nodes := []*node{n, n, n.node()}
	var clients []*client
	for _, at := range nodes {
		clients = append(clients, at.enter("ada"))
	}
	for _, former := range clients[:2] {
		former.closes(protocol.CloseReplaced)
	}
	n.eventually("two have ended", func() bool { return len(g.read()) == 5 })
	lines := g.read()
	for _, ended := range []string{"-demo/ada 1", "-demo/ada 2"} {
		if !slices.Contains(lines, ended) {
			t.Errorf("%q without %q", lines, ended)
		}
	}
	clients[2].cut()
	n.eventually("all have ended", g.ended)
}

// Whoever comes and goes in a hurry leaves as many ends as beginnings.
func TestVisitsInAHurry(t *testing.T) {
	t.Parallel()
	n, g := open(t, func(c *Config, _ *lobby.Duel) { c.PingEvery = 50 * time.Millisecond })
	other := n.node()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for try := range 10 {
				c := []*node{n, other}[(i+try)%2].dial()
				c.hello(fmt.Sprint("p", i%3), nil)
				if try%2 == 0 {
					_, _ = c.read()
				}
				c.cut()
			}
		})
	}
	all.Wait()
	n.eventually("all have ended", func() bool { return len(n.all())+len(other.all()) == 0 && g.ended() })
	if len(g.read()) == 0 {
		t.Error("nobody came")
	}
}

// A node that drains has ended all visits when it is done.
func TestVisitsOfADrain(t *testing.T) {
	t.Parallel()
	n, g := open(t)
	a, b := n.duel("d")
	a.expect(protocol.TypeMatchFound)
	b.expect(protocol.TypeMatchFound)
	for i := range 10 {
		n.enter(fmt.Sprint("p", i))
	}
	n.end()
	if lines := g.read(); len(lines) != 24 || !g.ended() {
		t.Errorf("after the drain: %q", lines)
	}
}
