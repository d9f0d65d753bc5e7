package redismatch

import (
	"bytes"
	"context"
	"errors"
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

// Fates of a write.
const (
	delivered int32 = iota
	unsent          // the connection breaks before the command is sent
	lostReply       // the connection breaks after the server has executed the command
	delayed         // the command reaches Redis after its sender has seen the connection break
)

var errSevered = errors.New("severed")

// delayedConnections are connections to Redis that can lose or delay any write. The
// function fate decides what happens to each write.
type delayedConnections struct {
	fate   func(written []byte) int32
	onLoss func()       // called at every loss before the sender notices it; may be nil
	losses atomic.Int64 // number of losses
	isDown atomic.Bool  // nothing can be written

	mu            sync.Mutex
	delayedWrites []func() // delayed writes
}

// loseFirst returns a function that gives the fate to the first write of a command
// and delivers all other writes.
func loseFirst(command string, fate int32) func([]byte) int32 {
	var done atomic.Bool
	pattern := regexp.MustCompile(`\n` + command + `\r\n`)
	return func(written []byte) int32 {
		if pattern.Match(written) && done.CompareAndSwap(false, true) {
			return fate
		}
		return delivered
	}
}

// client returns another client of the same Redis over these connections. Like
// the product's client it tries twice, but it waits longer. So every error is
// caused by a loss.
func (r *delayedConnections) client(t *testing.T, product redis.UniversalClient) redis.UniversalClient {
	t.Helper()
	var other redis.UniversalClient
	switch product := product.(type) {
	case *redis.Client:
		options := *product.Options()
		options.Dialer, options.MaxRetries, options.ReadTimeout = r.dialer(options.Dialer), 1, time.Minute
		other = redis.NewClient(&options)
	case *redis.ClusterClient:
		options := *product.Options()
		options.Dialer, options.ReadTimeout = r.dialer(new(net.Dialer).DialContext), time.Minute
		other = redis.NewClusterClient(&options)
	}
	t.Cleanup(func() {
		r.deliverDelayed()
		other.Close()
	})
	return other
}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func (r *delayedConnections) dialer(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if r.isDown.Load() {
			return nil, errSevered
		}
		conn, err := dial(ctx, network, addr)
		return &delayedConn{Conn: conn, connections: r}, err
	}
}

// deliverDelayed delivers the delayed writes.
func (r *delayedConnections) deliverDelayed() {
	r.mu.Lock()
	delayedWrites := r.delayedWrites
	r.delayedWrites = nil
	r.mu.Unlock()
	for _, deliver := range delayedWrites {
		deliver()
	}
}

func (r *delayedConnections) addDelayed(deliver func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delayedWrites = append(r.delayedWrites, deliver)
}

type delayedConn struct {
	net.Conn
	connections *delayedConnections
	lost        atomic.Bool // the write was lost; its client gets no reply
}

func (c *delayedConn) Write(b []byte) (int, error) {
	if c.connections.isDown.Load() {
		return 0, errSevered
	}
	fate := c.connections.fate(b)
	if fate == delivered {
		return c.Conn.Write(b)
	}
	c.lost.Store(true)
	switch fate {
	case unsent:
		c.Conn.Close()
	case lostReply:
		c.deliverAndClose(b)
	case delayed:
		copied := bytes.Clone(b) // the caller reuses its buffer
		c.connections.addDelayed(func() { c.deliverAndClose(copied) })
	}
	c.connections.losses.Add(1)
	if c.connections.onLoss != nil {
		c.connections.onLoss()
	}
	return len(b), nil
}

// deliverAndClose delivers a write and waits until the server has executed it; only
// then it closes the connection.
func (c *delayedConn) deliverAndClose(b []byte) {
	defer c.Conn.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	const quit = "*1\r\n$4\r\nQUIT\r\n" // the server closes the connection after it has executed b
	if _, err := c.Conn.Write(append(bytes.Clone(b), quit...)); err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, c.Conn)
}

func (c *delayedConn) Read(b []byte) (int, error) {
	if c.lost.Load() {
		return 0, io.EOF
	}
	return c.Conn.Read(b)
}

// SetReadDeadline ignores that the other side has closed the connection.
func (c *delayedConn) SetReadDeadline(t time.Time) error {
	if c.lost.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *delayedConn) Close() error {
	if c.lost.Load() {
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
var relevantCommand = regexp.MustCompile(`\n(watch|hmget|hget|exec|evalsha|eval)\r\n`)

// delayedNodes returns three stores of the same matches. Each loses one in
// twelve relevant writes. A delayed write reaches Redis at a later loss.
func (m *testMatch) delayedNodes() []node {
	m.Helper()
	nodes := make([]node, 3)
	for i := range nodes {
		connections := &delayedConnections{fate: func(written []byte) int32 {
			if !relevantCommand.Match(written) || rand.IntN(12) > 0 {
				return delivered
			}
			return []int32{unsent, lostReply, delayed}[rand.IntN(3)]
		}}
		connections.onLoss = func() {
			if rand.IntN(2) == 0 {
				connections.deliverDelayed()
			}
		}
		client := connections.client(m.T, m.client)
		nodes[i] = node{New(client, newScripter(m.T, client)), connections}
	}
	return nodes
}

// losses counts the losses of a node.
func (n node) losses() int64 {
	if n.connections == nil {
		return 0
	}
	return n.connections.losses.Load()
}

func countLosses(nodes []node) (losses int64) {
	for _, n := range nodes {
		losses += n.losses()
	}
	return losses
}
