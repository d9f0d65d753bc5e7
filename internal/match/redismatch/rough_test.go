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

// belated gets through, but only after its sender has seen the connection break:
// beside whole, unsent and unheard.
const belated = severed + 1

// rough is a way to a Redis on which anything can get lost: fate says what
// becomes of what is written at once.
type rough struct {
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
func (r *rough) client(t *testing.T, c redis.UniversalClient) redis.UniversalClient {
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

func (r *rough) dialer(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &roughConn{Conn: c, way: r}, err
	}
}

// arrive lets get through what is belated.
func (r *rough) arrive() {
	r.mu.Lock()
	waiting := r.waiting
	r.waiting = nil
	r.mu.Unlock()
	for _, through := range waiting {
		through()
	}
}

func (r *rough) wait(through func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, through)
}

type roughConn struct {
	net.Conn
	way  *rough
	gone atomic.Bool // to its client
}

func (c *roughConn) Write(b []byte) (int, error) {
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
	case belated:
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
func (c *roughConn) through(b []byte) {
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

func (c *roughConn) Read(b []byte) (int, error) {
	if c.gone.Load() {
		return 0, io.EOF
	}
	return c.Conn.Read(b)
}

// SetReadDeadline works on what the other side has closed.
func (c *roughConn) SetReadDeadline(t time.Time) error {
	if c.gone.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *roughConn) Close() error {
	if c.gone.Load() {
		return nil // through closes it, or unsent has
	}
	return c.Conn.Close()
}

// node is a store with a way to Redis of its own, nil where that is calm.
type node struct {
	*Store
	way *rough
}

// matters is all but how a connection begins.
var matters = regexp.MustCompile(`\n(watch|hmget|hget|exec|evalsha|eval)\r\n`)

// roughNodes are three stores of the same matches, on whose ways one in twelve
// of what matters gets lost. What is belated gets through at a later loss.
func (p *play) roughNodes() []node {
	p.Helper()
	nodes := make([]node, 3)
	for i := range nodes {
		way := &rough{fate: func(written []byte) int32 {
			if !matters.Match(written) || rand.IntN(12) > 0 {
				return whole
			}
			return []int32{unsent, unheard, belated}[rand.IntN(3)]
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
