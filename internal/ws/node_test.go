package ws

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/lobby"
	"laststand/internal/lobby/redislobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/redisx"
	"laststand/internal/timer"
	"laststand/internal/ws/redissession"
)

// world is what nodes share: the embedded Redis, the people, the arenas.
type world struct {
	*testing.T
	people  *people
	arenas  *arenas
	boards  *boards
	redis   *redisx.Conn
	matches *redismatch.Store
	tickets lobby.Store
	matched func(*match.Engine) lobby.Matches // what the next node's lobby plays; nil: its engine
	tune    []func(*Config, *lobby.Duel)
	deaf    atomic.Bool // nodes are not told of each other's sessions

	mu    sync.Mutex
	nodes map[string]*node
}

// node is a server on a loopback address with the real game behind it.
type node struct {
	*world
	*Server
	name     string
	url      string
	registry *prometheus.Registry
}

// duel is how duels go here unless a test wants another.
var duel = lobby.Duel{Questions: 3, LimitMS: 15_000, CountdownMS: 20, RevealMS: 20}

// start runs a node until the test ends. Its limits are out of the way unless
// tune brings them in.
func start(t *testing.T, tune ...func(*Config, *lobby.Duel)) *node {
	t.Helper()
	redis, err := redisx.Open(t.Context(), redisx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := redis.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{
		T: t, people: &people{}, arenas: &arenas{}, boards: &boards{}, redis: redis, tune: tune, nodes: map[string]*node{},
		matches: redismatch.New(redis.Client, redis.Pipelined), tickets: redislobby.New(redis.Client),
	}
	return w.node()
}

// node runs one more node of a world.
func (w *world) node() *node {
	w.Helper()
	n := &node{world: w, name: fmt.Sprint("node ", len(w.nodes)), registry: prometheus.NewRegistry()}
	rules := duel
	c := Config{
		Identity: w.people, Arenas: w.arenas, Boards: w.boards, Presence: new(match.Presence), Wheel: timer.New(timer.Config{}), Registry: n.registry,
		Numbers: redissession.New(w.redis.Client, n.name, now), Replace: w.replace,
		Now: now, Logger: slog.New(slog.DiscardHandler), Connections: 1000, PerSecond: 10_000, PingEvery: time.Minute,
	}
	for _, f := range w.tune {
		f(&c, &rules)
	}
	c.Engine = match.New(match.Config{
		Store: w.matches, Index: w.matches, Wheel: c.Wheel, Presence: c.Presence, Now: now, OnResult: func(*match.Result) {}, Logger: c.Logger,
		Node: n.name, Bus: mail{w, n.name},
	})
	matches := lobby.Matches(c.Engine)
	if w.matched != nil {
		matches = w.matched(c.Engine)
	}
	c.Lobby = lobby.New(lobby.Config{
		Games: map[string]lobby.Duel{"demo": rules}, Store: w.tickets, Matches: matches, Bank: bank{}, SeenStore: forgetful{},
		Players: w.people, Wheel: c.Wheel, Now: now, Logger: c.Logger,
	})
	n.Server = New(c)
	w.mu.Lock()
	w.nodes[n.name] = n
	w.mu.Unlock()
	stop := n.loops(c.Engine.Run, c.Lobby.Run)
	site := httptest.NewUnstartedServer(n.Server)
	n.url = "ws://" + site.Listener.Addr().String()
	site.Config.ConnContext = smallBuffers
	site.Start()
	w.Cleanup(func() {
		n.end()
		site.Close()
		stop()
		c.Wheel.Close()
	})
	return n
}

// other is a node of the world by its name; nil for none.
func (w *world) other(name string) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[name]
}

// replace tells a node that one of its sessions has a successor.
func (w *world) replace(_ context.Context, node, game, player string, number int64) {
	if n := w.other(node); n != nil && !w.deaf.Load() {
		n.Replaced(game, player, number)
	}
}

// mail is the bus of a node's engine.
type mail struct {
	*world
	from string
}

func (m mail) Send(_ context.Context, nodes []string, kind string, payload []byte) {
	for _, name := range nodes {
		if n := m.other(name); n != nil && name != m.from {
			n.Engine.Handlers()[kind](payload)
		}
	}
}

// end drains the node without patience.
func (n *node) end() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	n.Drain(over)
}

func (n *node) loops(run ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, f := range run {
		running.Go(func() {
			if err := f(ctx); err != nil {
				n.Error(err)
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// smallBuffers lets a reader that stops be noticed soon.
func smallBuffers(ctx context.Context, c net.Conn) context.Context {
	_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
	return ctx
}

var began = time.Now()

func now() int64 { return began.UnixMilli() + time.Since(began).Milliseconds() }

// eventually waits for a condition.
func (n *node) eventually(what string, holds func() bool) {
	n.Helper()
	for until := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			n.Fatalf("never: %s", what)
		}
	}
}

// session is the player's session here; nil for none.
func (n *node) session(player string) *session {
	sub, _ := n.Presence.Find("demo", player)
	se, _ := sub.(*session)
	return se
}

// closed is how many connections were closed with a code.
func (n *node) closed(code string) float64 {
	return testutil.ToFloat64(n.metrics.closed.WithLabelValues(code))
}

// labels are the values that a metric's labels have taken.
func (n *node) labels(metric string) []string {
	n.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		n.Fatal(err)
	}
	var values []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if strings.HasSuffix(f.GetName(), metric) {
					values = append(values, l.GetValue())
				}
			}
		}
	}
	return values
}
