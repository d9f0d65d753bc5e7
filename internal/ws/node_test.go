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

// cluster contains what its nodes share: the embedded Redis and the fakes.
type cluster struct {
	*testing.T
	identity     *fakeIdentity
	arenas       *fakeArenas
	boards       *fakeBoards
	redis        *redisx.Conn
	matches      *redismatch.Store
	tickets      lobby.Store
	wrapEngine   func(*match.Engine) lobby.Matches // wraps the engine for the lobby of the next node; nil uses the engine
	options      []func(*Config, *lobby.DuelSettings)
	dropReplaced atomic.Bool // nodes do not notify each other of newer sessions

	mu    sync.Mutex
	nodes map[string]*node
}

// node is a server on a loopback address with the real game behind it.
type node struct {
	*cluster
	*Server
	name     string
	url      string
	registry *prometheus.Registry
}

// duel are the rules of duels unless a test sets others.
var duel = lobby.DuelSettings{Questions: 3, LimitMS: 15_000, CountdownMS: 20, RevealMS: 20}

// startNode runs a node until the test ends. Its limits are high unless options lower
// them.
func startNode(t *testing.T, tune ...func(*Config, *lobby.DuelSettings)) *node {
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
	w := &cluster{
		T: t, identity: &fakeIdentity{}, arenas: &fakeArenas{}, boards: &fakeBoards{}, redis: redis, options: tune, nodes: map[string]*node{},
		matches: redismatch.New(redis.Client, redis.Pipelined), tickets: redislobby.New(redis.Client),
	}
	return w.node()
}

// node runs one more node of a cluster.
func (w *cluster) node() *node {
	w.Helper()
	n := &node{cluster: w, name: fmt.Sprint("node ", len(w.nodes)), registry: prometheus.NewRegistry()}
	rules := duel
	c := Config{
		Identity: w.identity, Arenas: w.arenas, Boards: w.boards, Presence: new(match.Presence), Wheel: timer.New(timer.Config{}), Registry: n.registry,
		SessionNumbers: redissession.New(w.redis.Client, n.name, now), NotifyReplaced: w.notifyReplaced,
		Now: now, Logger: slog.New(slog.DiscardHandler), MaxConnections: 1000, MessagesPerSecond: 10_000, PingInterval: time.Minute,
	}
	for _, f := range w.options {
		f(&c, &rules)
	}
	c.Engine = match.New(match.Config{
		Store: w.matches, Index: w.matches, Wheel: c.Wheel, Presence: c.Presence, Now: now, OnResult: func(*match.Result) {}, Logger: c.Logger,
		Node: n.name, Bus: localBus{w, n.name},
	})
	matches := lobby.Matches(c.Engine)
	if w.wrapEngine != nil {
		matches = w.wrapEngine(c.Engine)
	}
	c.Lobby = lobby.New(lobby.Config{
		Games: map[string]lobby.DuelSettings{"demo": rules}, Store: w.tickets, Matches: matches, Bank: fakeBank{}, SeenStore: emptyMemory{},
		Players: w.identity, Wheel: c.Wheel, Now: now, Logger: c.Logger,
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
		n.drainNow()
		site.Close()
		stop()
		c.Wheel.Close()
	})
	return n
}

// nodeNamed returns a node of the cluster, nil for none.
func (w *cluster) nodeNamed(name string) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[name]
}

// notifyReplaced calls CloseReplaced at another node.
func (w *cluster) notifyReplaced(_ context.Context, node, game, player string, number int64) {
	if n := w.nodeNamed(node); n != nil && !w.dropReplaced.Load() {
		n.CloseReplaced(game, player, number)
	}
}

// localBus is the bus of a node's engine.
type localBus struct {
	*cluster
	from string
}

func (m localBus) Send(_ context.Context, nodes []string, kind string, payload []byte) {
	for _, name := range nodes {
		if n := m.nodeNamed(name); n != nil && name != m.from {
			n.Engine.Handlers()[kind](payload)
		}
	}
}

// drainNow drains the node with a context that has ended.
func (n *node) drainNow() {
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

// smallBuffers makes the server notice a reader that stops soon.
func smallBuffers(ctx context.Context, c net.Conn) context.Context {
	_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
	return ctx
}

var began = time.Now()

func now() int64 { return began.UnixMilli() + time.Since(began).Milliseconds() }

// eventually waits for a condition.
func (n *node) eventually(description string, holds func() bool) {
	n.Helper()
	for until := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			n.Fatalf("this never happened: %s", description)
		}
	}
}

// session returns the player's session at this node, nil for none.
func (n *node) session(player string) *session {
	sub, _ := n.Presence.Find("demo", player)
	se, _ := sub.(*session)
	return se
}

// closedCount returns how many connections were closed with a code.
func (n *node) closedCount(code string) float64 {
	return testutil.ToFloat64(n.metrics.closed.WithLabelValues(code))
}

// labels returns the label values of a metric.
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
