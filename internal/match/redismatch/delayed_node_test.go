package redismatch

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// delayed is a fate of a write: the command reaches Redis, but only after its sender
// has seen the connection break. The other fates are delivered, unsent and lostReply.
const delayed = severed + 1

// delayedConnections are connections to Redis that can lose or delay any write. The
// function fate decides what happens to each write.
type delayedConnections struct {
	fate      func(written []byte) int32
	meanwhile func()       // called at every loss before the sender notices it; may be nil
	count     atomic.Int64 // number of losses

	mu      sync.Mutex
	waiting []func() // delayed writes
}

// loseFirst returns a function that gives the fate to the first write of a command
// and delivers all other writes.
func once(command string, fate int32) func([]byte) int32 {
	var done atomic.Bool
	of := regexp.MustCompile(`\n` + command + `\r\n`)
	return func(written []byte) int32 {
		if of.Match(written) && done.CompareAndSwap(false, true) {
			return fate
		}
		return whole
	}
}

// client returns another client of the same Redis over these connections. Like
// the product's client it tries twice, but it waits longer. So every error is
// caused by a loss.
func (r *delayedConnections) client(t *testing.T, c redis.UniversalClient) redis.UniversalClient {
	t.Helper()
	var other redis.UniversalClient
	switch c := c.(type) {
	case *redis.Client:
		o := *c.Options()
		o.Dialer, o.MaxRetries, o.ReadTimeout = r.dialer(o.Dialer), 1, time.Minute
		other = redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *c.Options()
		o.Dialer, o.ReadTimeout = r.dialer(new(net.Dialer).DialContext), time.Minute
		other = redis.NewClusterClient(&o)
	}
	t.Cleanup(func() {
		r.arrive()
		other.Close()
	})
	return other
}

func (r *delayedConnections) dialer(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &delayedConn{Conn: c, way: r}, err
	}
}

// deliverDelayed delivers the delayed writes.
func (r *delayedConnections) arrive() {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	for _, through := range waiting {
		through()
	}
}

func (r *delayedConnections) wait(through func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, through)
}

type delayedConn struct {
	net.Conn
	way  *delayedConnections
	gone atomic.Bool // the write was lost; its client gets no reply
}

func (c *delayedConn) Write(b []byte) (int, error) {
	fate := c.way.fate(b)
	if fate == whole {
		return c.Conn.Write(b)
	}
	c.gone.Store(true)
	switch fate {
	case unsent:
		c.Conn.Close()
	case lostReply:
		c.through(b)
	case delayed:
		late := bytes.Clone(b) // the caller reuses its buffer
		c.way.wait(func() { c.through(late) })
	}
	c.way.count.Add(1)
	if c.way.meanwhile != nil {
		c.way.meanwhile()
	}
	return len(b), nil
}

// deliverAndClose delivers a write and waits until the server has executed it; only
// then it closes the connection.
func (c *delayedConn) through(b []byte) {
	defer c.Conn.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Conn.Write(b); err != nil {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c.Conn)
}

func (c *delayedConn) Read(b []byte) (int, error) {
	if c.gone.Load() {
		return 0, io.EOF
	}
	return c.Conn.Read(b)
}

// SetReadDeadline ignores that the other side has closed the connection.
func (c *delayedConn) SetReadDeadline(t time.Time) error {
	if c.gone.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *delayedConn) Close() error {
	if c.gone.Load() {
		return nil // deliverAndClose closes it, or the fate unsent has closed it
	}
	return c.Conn.Close()
}

// node is a store with connections of its own. connections is nil if they lose
// nothing.
type node struct {
	*Store
	connections *delayedConnections
}

// relevantCommand matches the commands that tests lose. It does not match the
// commands at the start of a connection.
var matters = regexp.MustCompile(`\n(watch|hmget|hget|exec|evalsha|eval)\r\n`)

// delayedNodes returns three stores of the same matches. Each loses one in
// twelve relevant writes. A delayed write reaches Redis at a later loss.
func (m *testMatch) delayedNodes() []node {
	m.Helper()
	nodes := make([]node, 3)
	for i := range nodes {
		connections := &delayedConnections{fate: func(written []byte) int32 {
			if !matters.Match(written) || rand.IntN(12) > 0 {
				return whole
			}
			return []int32{unsent, lostReply, delayed}[rand.IntN(3)]
		}}
		connections.meanwhile = func() {
			if rand.IntN(2) == 0 {
				connections.arrive()
			}
		}
		c := connections.client(m.T, m.client)
		nodes[i] = node{New(c, scripts(m.T, c)), connections}
	}
	return nodes
}

// losses counts the losses of a node.
func (n node) lost() int64 {
	if n.connections == nil {
		return 0
	}
	return n.connections.count.Load()
}

func countLosses(nodes []node) (lost int64) {
	for _, n := range nodes {
		lost += n.lost()
	}
	return lost
}
