// Package redisx connects to Redis as --redis says: to one inside the process,
// to a single server, through sentinels or to a cluster, with the same settings
// and checks for each.
package redisx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Config says where Redis is and whom to tell.
type Config struct {
	// URL is the value of --redis: "" for the embedded one,
	// redis[s]://[user:password@]host[:port][/db] for one server, several
	// addresses separated by commas or ?cluster=true for a cluster,
	// redis+sentinel://[user:password@]host[:port],.../MASTER[/db] for the
	// master that sentinels know. User and password are the data servers'.
	URL string
	// Registry takes the metrics of the connection pools; nil for none.
	Registry prometheus.Registerer
	// Logger takes warnings about the server's settings; nil for none.
	Logger *slog.Logger
}

// Conn is an open connection, safe for concurrent use. Close it, never the
// clients in it.
type Conn struct {
	// Kind is one of the Kind constants.
	Kind string
	// Client runs every command, WATCH, pub/sub and pipelines included. It heeds
	// the deadline of a context. A call gives up after some seconds in any case:
	// it waits 1 s for a connection and 1 s for a reply, and tries twice, so a
	// script that writes may run twice and must be idempotent.
	Client redis.UniversalClient
	// Pipelined is Client but for EVALSHA, and so redis.Script.Run: the scripts of
	// concurrent callers share round trips, which more than doubles what a server
	// takes. A caller whose context ends is let go, though its script may run yet.
	// With 16,384 scripts under way a further one fails at once with
	// redis.ErrAutoPipelineQueueFull and was not sent. Embedded it is Client,
	// which has no round trips to save.
	Pipelined redis.UniversalClient
	// Bulk is Pipelined on connections of its own, for what is much and may hold up
	// no player. Where 16,384 scripts are under way a further one waits.
	Bulk redis.UniversalClient

	replicated atomic.Bool
	closers    []func() error // in the order of closing
	closed     sync.Once
	cause      error // of Close, set once
}

// Open connects and checks the server: it must answer within 5 s and be Redis
// 7.0 or newer, every master of a cluster too. Errors name the address, the
// cause and what to do. The context bounds the opening only.
func Open(ctx context.Context, cfg Config) (*Conn, error) {
	addr, err := parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	conn, err := dial(addr)
	if err != nil {
		return nil, err
	}
	if err := conn.prepare(ctx, addr, cfg); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Close ends the embedded Redis and everything that Open started, waiting for
// it. Commands after it fail with redis.ErrClosed. Closing again returns the
// same error.
func (c *Conn) Close() error {
	c.closed.Do(func() {
		var errs []error
		for _, closeOne := range c.closers {
			errs = append(errs, closeOne())
		}
		c.cause = errors.Join(errs...)
	})
	return c.cause
}

func dial(addr address) (*Conn, error) {
	if addr.kind == KindEmbedded {
		return openEmbedded()
	}
	client, heavy := newClient(addr), newClient(addr)
	pipelined, err := share(client)
	if err != nil {
		return nil, errors.Join(err, client.Close(), heavy.Close())
	}
	bulk, err := stream(heavy)
	if err != nil {
		return nil, errors.Join(err, pipelined.queue.Close(), client.Close(), heavy.Close())
	}
	return &Conn{
		Kind: addr.kind, Client: client, Pipelined: pipelined, Bulk: bulk,
		closers: []func() error{bulk.queue.Close, heavy.Close, pipelined.queue.Close, client.Close},
	}, nil
}

// newClient makes a client, which shares round trips in one way at the most: the
// library keeps the first.
func newClient(addr address) redis.UniversalClient {
	client := redis.NewUniversalClient(options(addr))
	if cluster, ok := client.(*redis.ClusterClient); ok {
		cluster.AddHook(following{cluster.ReloadState}) // which does so at most every 200 ms
	}
	return client
}

// prepare does what can fail once there is a client to close.
func (c *Conn) prepare(ctx context.Context, addr address, cfg Config) error {
	if c.Kind != KindEmbedded {
		if err := check(ctx, c.Client, addr, cfg.Logger); err != nil {
			return err
		}
		c.watchReplicas(ctx)
	}
	if cfg.Registry == nil {
		return nil
	}
	stats := newPoolCollector(c.Client, c.Bulk)
	if err := cfg.Registry.Register(stats); err != nil {
		return fmt.Errorf("register the metrics of redis: %w", err)
	}
	unregister := func() error { cfg.Registry.Unregister(stats); return nil }
	c.closers = append([]func() error{unregister}, c.closers...)
	return nil
}

// options are short where the library waits long: a player waits behind every
// command. Pools and buffers are per node of a cluster.
func options(addr address) *redis.UniversalOptions {
	o := &redis.UniversalOptions{
		Addrs:         slices.Clone(addr.hosts), // a client adds to its own
		MasterName:    addr.master,
		IsClusterMode: addr.kind == KindCluster,
		Username:      addr.username,
		Password:      addr.password,
		DB:            addr.db,

		ContextTimeoutEnabled: true,
		DialTimeout:           time.Second,
		DialerRetries:         1,
		ReadTimeout:           time.Second,
		WriteTimeout:          time.Second,
		PoolTimeout:           time.Second,
		MaxRetries:            1,

		PoolSize:                64,
		MaxActiveConns:          64,
		MinIdleConns:            2,
		ReadBufferSize:          16 << 10,
		WriteBufferSize:         16 << 10,
		PipelinePoolSize:        4,
		PipelineReadBufferSize:  64 << 10,
		PipelineWriteBufferSize: 64 << 10,

		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if addr.tls {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return o
}
