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
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/redisstore"
	"laststand/internal/redisx"
	"laststand/internal/timer"
)

// cluster contains what its nodes share: the embedded Redis and the fakes.
type cluster struct {
	*testing.T
	identity     *fakeIdentity
	arenas       *fakeArenas
	boards       *fakeBoards
	redis        *redisx.Conn
	matches      *redismatch.Store
	tickets      lobbyStores
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
func startNode(t *testing.T, options ...func(*Config, *lobby.DuelSettings)) *node {
	t.Helper()
	conn, err := redisx.Open(t.Context(), redisx.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{
		T: t, identity: &fakeIdentity{}, arenas: &fakeArenas{}, boards: &fakeBoards{}, redis: conn, options: options, nodes: map[string]*node{},
		matches: redismatch.New(conn.Client, conn.Pipelined), tickets: redisstore.NewLobby(conn.Client),
	}
	return c.addNode()
}

// startParallel runs a node for a test that runs in parallel with others.
func startParallel(t *testing.T, options ...func(*Config, *lobby.DuelSettings)) *node {
	t.Helper()
	t.Parallel()
	return startNode(t, options...)
}

// addNode runs one more node of a cluster.
func (c *cluster) addNode() *node {
	c.Helper()
	n := &node{cluster: c, name: fmt.Sprint("node ", len(c.nodes)), registry: prometheus.NewRegistry()}
	rules := duel
	config := Config{
		Identity: c.identity, Arenas: c.arenas, Boards: c.boards, Presence: new(match.Presence), Wheel: timer.New(timer.Config{}), Registry: n.registry,
		SessionNumbers: redisstore.NewSessions(c.redis.Client, n.name, now), NotifyReplaced: c.notifyReplaced,
		LoadShedder: &fakeShedder{}, ClientAddress: remoteAddress,
		Now: now, Logger: slog.New(slog.DiscardHandler), MaxConnections: 1000, MessagesPerSecond: 10_000, PingInterval: time.Minute,
	}
	for _, change := range c.options {
		change(&config, &rules)
	}
	config.Engine = match.New(match.Config{
		Matches: c.matches.Matches, Answers: c.matches.Answers, Places: c.matches.Places, Index: c.matches.Index, Results: c.matches.Results, Wheel: config.Wheel, Presence: config.Presence, Now: now, OnResult: func(*match.Result) {}, Logger: config.Logger,
		Node: n.name, Bus: localBus{c, n.name}, OnArenaEnd: func(*match.Arena, string) {}, OnLifecycle: func(match.LifecycleEvent) {},
		OnSettled:   func(context.Context, []match.Settlement) error { return nil },
		RefusesText: func(string, string) bool { return false },
	})
	matches := lobby.Matches(config.Engine)
	if c.wrapEngine != nil {
		matches = c.wrapEngine(config.Engine)
	}
	config.Lobby = lobby.New(lobby.Config{
		Games: map[string]lobby.DuelSettings{"demo": rules}, Tickets: c.tickets, Pairings: c.tickets, Activities: c.tickets, Matches: matches, Statuses: config.Engine, Bank: fakeBank{}, SeenStore: emptySeenStore{},
		Players: c.identity, Wheel: config.Wheel, Now: now, Logger: config.Logger,
	})
	n.Server = New(config)
	c.mu.Lock()
	c.nodes[n.name] = n
	c.mu.Unlock()
	stop := n.runLoops(config.Engine.Run, config.Lobby.Run, n.Run)
	site := httptest.NewUnstartedServer(n.Server)
	n.url = "ws://" + site.Listener.Addr().String()
	site.Config.ConnContext = smallBuffers
	site.Start()
	c.Cleanup(func() {
		n.drainNow()
		site.Close()
		stop()
		config.Wheel.Close()
	})
	return n
}

// nodeNamed returns a node of the cluster, nil for none.
func (c *cluster) nodeNamed(name string) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name]
}

// notifyReplaced calls CloseReplaced at another node.
func (c *cluster) notifyReplaced(_ context.Context, node, game, player string, number int64) {
	if n := c.nodeNamed(node); n != nil && !c.dropReplaced.Load() {
		n.CloseReplaced(game, player, number)
	}
}

// localBus is the bus of a node's engine.
type localBus struct {
	*cluster
	sender string
}

func (b localBus) Send(_ context.Context, nodes []string, kind string, payload []byte) {
	for _, name := range nodes {
		if n := b.nodeNamed(name); n != nil && name != b.sender {
			n.Engine.Handlers()[kind](payload)
		}
	}
}

// drainNow drains the node with a context that has ended.
func (n *node) drainNow() {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	n.Drain(ended)
}

func (n *node) runLoops(loops ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(func() {
			if err := loop(ctx); err != nil {
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

var testStart = time.Now()

func now() int64 { return testStart.UnixMilli() + time.Since(testStart).Milliseconds() }

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
	if found := n.presenceOf("demo", player); found != nil {
		for _, se := range n.openSessions() {
			if &se.presence == found {
				return se
			}
		}
	}
	return nil
}

// maskedFrame encodes a frame as a client sends it.
func maskedFrame(firstByte byte, payload string) []byte {
	frame := []byte{firstByte, 0x80 | byte(len(payload)), 1, 2, 3, 4}
	for i := range len(payload) {
		frame = append(frame, payload[i]^frame[2+i%4])
	}
	return frame
}

// closedCount returns how many connections were closed with a code.
func (n *node) closedCount(code string) float64 {
	return testutil.ToFloat64(n.metrics.closed.WithLabelValues(code))
}

// labelValues returns the label values of a metric.
func (n *node) labelValues(metric string) []string {
	n.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		n.Fatal(err)
	}
	var values []string
	for _, family := range families {
		for _, metricOfFamily := range family.GetMetric() {
			for _, label := range metricOfFamily.GetLabel() {
				if strings.HasSuffix(family.GetName(), metric) {
					values = append(values, label.GetValue())
				}
			}
		}
	}
	return values
}
