package redisx

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// minExpiryInterval is the shortest time between two expiry steps. A key may expire up to
// one step early or late.
const minExpiryInterval = 100 * time.Millisecond

// embedded is miniredis as a server inside the process. It has one node, opens no port and
// stores nothing on disk. It is fast enough for one process and a few thousand commands a
// second. No code may use pub/sub with it: it has no sharded pub/sub, and a slow subscriber
// blocks its PUBLISH.
type embedded struct {
	redis *miniredis.Miniredis
	stop  chan struct{}
	ended chan struct{}
}

func openEmbedded() *Conn {
	server := &embedded{
		redis: miniredis.NewMiniRedis(),
		stop:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	go server.runExpiry() // close waits for it
	client := redis.NewClient(server.options())
	return &Conn{
		Kind:       KindEmbedded,
		Client:     client,
		Pipelined:  client,
		Bulk:       client,
		closeFuncs: []func() error{client.Close, server.close},
	}
}

// options returns the options of the client. They allow few connections, because miniredis
// runs one command at a time. Timeouts are long, because scripts are slow (0.1 ms, some ms
// on a busy machine) and there is no network that can fail. A caller that must not wait
// passes a context with a deadline.
func (e *embedded) options() *redis.Options {
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
func (e *embedded) dial(context.Context, string, string) (net.Conn, error) {
	pipe, err := e.redis.Dial()
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded redis: %w", err)
	}
	return &bufferedPipe{Conn: pipe}, nil
}

// runExpiry lets keys expire until close, which miniredis does not do by itself. A step visits
// all keys under a lock. With many keys the steps become rarer, so that they use at most a
// twentieth of the time.
func (e *embedded) runExpiry() {
	defer close(e.ended)
	last := time.Now()
	timer := time.NewTimer(minExpiryInterval)
	defer timer.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-timer.C:
		}
		now := time.Now()
		e.redis.FastForward(now.Sub(last))
		last = now
		timer.Reset(max(minExpiryInterval, 20*time.Since(now)))
	}
}

// close waits for the expiry loop and for every connection.
func (e *embedded) close() error {
	close(e.stop)
	<-e.ended
	e.redis.Close()
	return nil
}
