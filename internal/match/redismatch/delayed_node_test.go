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

// delayed gets through, but only after its sender has seen the connection break:
// beside whole, unsent and unheard.
const delayed = severed + 1

// delayedConnections is a way to a Redis on which anything can get lost: fate says what
// becomes of what is written at once.
type delayedConnections struct {
	fate      func(written []byte) int32
	meanwhile func()       // happens at every loss, before its sender knows; nil for nothing
	count     atomic.Int64 // of losses

	mu      sync.Mutex
	waiting []func() // to get through
}

// once loses the first that is of a command.
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

// client is another client of the same Redis, on this way. It tries twice, as
// the product's does, but has more patience: what fails has got lost.
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

// arrive lets get through what is belated.
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
	gone atomic.Bool // to its client
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
	case unheard:
		c.through(b)
	case delayed:
		late := bytes.Clone(b) // its buffer is used again
		c.way.wait(func() { c.through(late) })
	}
	c.way.count.Add(1)
	if c.way.meanwhile != nil {
		c.way.meanwhile()
	}
	return len(b), nil
}

// through has the server do all that was written: it hangs up only then.
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

// SetReadDeadline works on what the other side has closed.
func (c *delayedConn) SetReadDeadline(t time.Time) error {
	if c.gone.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *delayedConn) Close() error {
	if c.gone.Load() {
		return nil // through closes it, or unsent has
	}
	return c.Conn.Close()
}

// node is a store with a way to Redis of its own, nil where that is calm.
type node struct {
	*Store
	way *delayedConnections
}

// matters is all but how a connection begins.
var matters = regexp.MustCompile(`\n(watch|hmget|hget|exec|evalsha|eval)\r\n`)

// delayedNodes are three stores of the same matches, on whose ways one in twelve
// of what matters gets lost. What is belated gets through at a later loss.
func (p *testMatch) delayedNodes() []node {
	p.Helper()
	nodes := make([]node, 3)
	for i := range nodes {
		way := &delayedConnections{fate: func(written []byte) int32 {
			if !matters.Match(written) || rand.IntN(12) > 0 {
				return whole
			}
			return []int32{unsent, unheard, delayed}[rand.IntN(3)]
		}}
		way.meanwhile = func() {
			if rand.IntN(2) == 0 {
				way.arrive()
			}
		}
		c := way.client(p.T, p.client)
		nodes[i] = node{New(c, scripts(p.T, c)), way}
	}
	return nodes
}

// lost counts what got lost on a node's way.
func (n node) lost() int64 {
	if n.way == nil {
		return 0
	}
	return n.way.count.Load()
}

func losses(nodes []node) (lost int64) {
	for _, n := range nodes {
		lost += n.lost()
	}
	return lost
}
