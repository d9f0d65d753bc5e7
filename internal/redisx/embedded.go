package redisx

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"laststand/internal/timer"
)

// minExpiryInterval is the shortest time between two expiry steps. A key may expire up to
// one step early or late.
const minExpiryInterval = 100 * time.Millisecond

// embeddedServer is miniredis inside the process. It has one node, opens no port and stores
// nothing on disk. It is fast enough for one process and a few thousand commands a second. No
// code may use pub/sub with it: it has no sharded pub/sub, and a slow subscriber blocks its
// PUBLISH.
type embeddedServer struct {
	redis  *miniredis.Miniredis
	stop   context.CancelFunc
	expiry sync.WaitGroup // runExpiry, until stop
}

func startEmbedded() *embeddedServer {
	ctx, stop := context.WithCancel(context.Background())
	server := &embeddedServer{redis: miniredis.NewMiniRedis(), stop: stop}
	server.expiry.Go(func() { server.runExpiry(ctx) })
	return server
}

// options returns the options of the client. They allow few connections, because miniredis
// runs one command at a time. Timeouts are long, because scripts are slow (0.1 ms, some ms
// on a busy machine) and there is no network that can fail. A caller that must not wait
// passes a context with a deadline.
func (e *embeddedServer) options() *redis.Options {
	return &redis.Options{
		Addr:                     "embedded",
		Dialer:                   e.dial,
		ContextTimeoutEnabled:    true,
		ReadTimeout:              5 * time.Second,
		WriteTimeout:             5 * time.Second,
		PoolTimeout:              30 * time.Second,
		MaxRetries:               -1,
		PoolSize:                 16,
		MaxActiveConns:           16,
		PipelinePoolSize:         -1,
		ReadBufferSize:           8 << 10,
		WriteBufferSize:          8 << 10,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// dial returns a new connection to the server, within the process. The first one starts
// the server, without a listener.
func (e *embeddedServer) dial(context.Context, string, string) (net.Conn, error) {
	pipe, err := e.redis.Dial()
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded redis: %w", err)
	}
	return &bufferedPipe{Conn: pipe}, nil
}

// runExpiry lets keys expire until close, which miniredis does not do by itself. A step visits
// all keys under a lock. With many keys the steps become rarer, so that they use at most a
// twentieth of the time.
func (e *embeddedServer) runExpiry(ctx context.Context) {
	last, pause := time.Now(), minExpiryInterval
	for timer.Sleep(ctx, pause) {
		now := time.Now()
		e.redis.FastForward(now.Sub(last))
		last, pause = now, max(minExpiryInterval, 20*time.Since(now))
	}
}

// close waits for the expiry loop and for every connection.
func (e *embeddedServer) close() error {
	e.stop()
	e.expiry.Wait()
	e.redis.Close()
	return nil
}

// bufferedPipe is an end of a pipe whose writes do not block. A pipe has no buffer. The
// client writes a whole pipeline before it reads a reply, and the embedded server answers
// a command before it reads the next. Without a buffer, both would wait for each other.
type bufferedPipe struct {
	net.Conn

	mu        sync.Mutex
	pending   []byte // written by the client, and not yet by writePending
	isWriting bool   // writePending runs, or has failed
}

// Write implements net.Conn. If the pipe fails, reads return the error.
func (p *bufferedPipe) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, data...)
	if !p.isWriting {
		p.isWriting = true
		go p.writePending() // ends when nothing is pending or the pipe is closed
	}
	return len(data), nil
}

// writePending writes to the pipe until nothing is pending.
func (p *bufferedPipe) writePending() {
	for {
		p.mu.Lock()
		batch := p.pending
		p.pending = nil
		p.isWriting = len(batch) > 0
		p.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		if _, err := p.Conn.Write(batch); err != nil {
			_ = p.Close()
			return
		}
	}
}
