package redisx

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// minTick is how often keys expire at most. Expiry is by these steps, so a key
// may go up to a step before or after its time.
const minTick = 100 * time.Millisecond

// embedded is miniredis as a server inside the process: one node, no port
// open, nothing kept. It is for one process and some thousand commands a
// second. It has no sharded pub/sub, and its PUBLISH stalls behind a slow
// subscriber: nothing uses pub/sub here.
type embedded struct {
	redis *miniredis.Miniredis
	peers *server.Server
	stop  chan struct{}
	ended chan struct{}
}

func openEmbedded() (*Conn, error) {
	e := &embedded{
		redis: miniredis.NewMiniRedis(),
		stop:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	// The first Dial is what makes it a server without a listener. Its pipe is
	// not used: unbuffered, it stalls on a pipeline of more than 4 KiB.
	pipe, err := e.redis.Dial()
	if err != nil {
		return nil, fmt.Errorf("start the embedded redis: %w", err)
	}
	_ = pipe.Close()
	e.peers = e.redis.Server()
	go e.expire()

	client := redis.NewClient(e.options())
	client.AddHook(pieces{})
	return &Conn{
		Kind:      KindEmbedded,
		Client:    client,
		Pipelined: client,
		Bulk:      client,
		closers:   []func() error{client.Close, e.close},
	}, nil
}

// options have few connections, since a mutex lets one command run at a time,
// and patience, since its scripts are slow (0.1 ms, some ms on a busy machine)
// and no network can fail: who cannot wait says so by a context.
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

func (e *embedded) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded redis: %w", err)
	}
	e.peers.ServeConn(theirs)
	return ours, nil
}

// expire moves time on for the keys, which miniredis does not by itself. A step
// walks over all keys under the lock, so with many keys the steps become rarer
// and cost at most a twentieth of the time.
func (e *embedded) expire() {
	defer close(e.ended)
	last := time.Now()
	timer := time.NewTimer(minTick)
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
		timer.Reset(max(minTick, 20*time.Since(now)))
	}
}

// close waits for the clock and for every connection.
func (e *embedded) close() error {
	close(e.stop)
	<-e.ended
	e.redis.Close()
	return nil
}
