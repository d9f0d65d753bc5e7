package redisx

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"laststand/internal/timer"
)

// The library logs errors that it also returns.
func init() { logging.Disable() }

// Config configures a connection.
type Config struct {
	// URL is the value of --redis. It has one of these forms:
	//   - "": the embedded server.
	//   - redis[s]://[user:password@]host[:port][/db]: one server.
	//   - the same with several addresses, separated by commas, or with
	//     ?cluster=true: a cluster.
	//   - redis+sentinel://[user:password@]host[:port],.../MASTER[/db]: the master
	//     that the sentinels know. User and password are those of the data servers.
	URL string
	// Registry gets the metrics of the connection pools; nil: none.
	Registry prometheus.Registerer
	// Logger logs warnings about the server's settings; nil: no log.
	Logger *slog.Logger
}

// Conn is an open connection to Redis. It is safe for concurrent use. The caller must close
// the Conn, and must not close the clients in it.
type Conn struct {
	// Kind is one of the Kind constants.
	Kind string
	// Client runs all commands, including WATCH, pub/sub and pipelines. It respects
	// the deadline of a context. Without a deadline a call still fails after some
	// seconds: it waits 1 s for a connection and 1 s for a reply, and tries twice.
	// So a script that writes may run twice and must be idempotent.
	Client redis.UniversalClient
	// Pipelined is like Client, except that EVALSHA (and so redis.Script.Run) of
	// concurrent callers share round trips. This more than doubles the throughput of
	// a server. A lone script uses Client. A call whose context ends returns immediately, a
	// lone one at its deadline; its script may still run. If 16,384 scripts are waiting, a further one fails immediately with
	// redis.ErrAutoPipelineQueueFull and is not sent. For the embedded server,
	// Pipelined equals Client.
	Pipelined redis.UniversalClient
	// Bulk is like Pipelined, but with separate connections. It is for bulk work that
	// must not delay players. If 16,384 scripts are waiting, a further one waits too.
	Bulk redis.UniversalClient

	hasReplicas atomic.Bool
	closeFuncs  []func() error // called by Close in this order
	closeOnce   sync.Once
	closeErr    error // result of the first Close
}

// Close closes the connection, stops the embedded server and waits for everything that
// Open has started. Later commands fail with redis.ErrClosed. Further calls return the
// same error.
func (c *Conn) Close() error {
	c.closeOnce.Do(func() {
		var errs []error
		for _, closeOne := range c.closeFuncs {
			errs = append(errs, closeOne())
		}
		c.closeErr = errors.Join(errs...)
	})
	return c.closeErr
}

// Open connects and checks the server. The server must answer within 5 s and be Redis
// 7.0 or newer; so must every master of a cluster. Errors name the address, the cause and
// what to do. The context limits only Open, not the life of the Conn.
func Open(ctx context.Context, cfg Config) (*Conn, error) {
	addr, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	conn, err := connect(addr)
	if err != nil {
		return nil, err
	}
	if err := conn.checkAndRegister(ctx, addr, cfg); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// connect makes the clients of a connection. It does not contact a server yet, except that it
// starts an embedded one.
func connect(addr address) (*Conn, error) {
	if addr.kind == KindEmbedded {
		server := startEmbedded()
		client := redis.NewClient(server.options())
		return &Conn{Kind: addr.kind, Client: client, Pipelined: client, Bulk: client, closeFuncs: []func() error{client.Close, server.close}}, nil
	}
	client, bulkClient := newClient(addr), newClient(addr)
	pipelined, err := newAutopipeline(client)
	if err != nil {
		return nil, errors.Join(err, client.Close(), bulkClient.Close())
	}
	bulk, err := newStreamingAutopipeline(bulkClient)
	if err != nil {
		return nil, errors.Join(err, pipelined.queue.Close(), client.Close(), bulkClient.Close())
	}
	return &Conn{
		Kind: addr.kind, Client: client, Pipelined: pipelined, Bulk: bulk,
		closeFuncs: []func() error{bulk.queue.Close, bulkClient.Close, pipelined.queue.Close, client.Close},
	}, nil
}

// clusterReloadInterval is how often the client of a cluster reloads the owners of slots
// while it runs commands. By default it could call a dead master for a minute, because it
// learns of a new owner at once only from masters that answer.
const clusterReloadInterval = time.Second

// newClient makes a client. Each auto-pipeline needs its own client, because the library
// keeps only the first auto-pipeline of a client.
func newClient(addr address) redis.UniversalClient {
	options := clientOptions(addr)
	if addr.kind != KindCluster {
		return redis.NewUniversalClient(options)
	}
	clusterOptions := options.Cluster()
	clusterOptions.ClusterStateReloadInterval = clusterReloadInterval
	return redis.NewClusterClient(clusterOptions)
}

// checkAndRegister makes the last steps of Open: it checks the servers, starts the checks for
// replicas and registers the metrics.
func (c *Conn) checkAndRegister(ctx context.Context, addr address, cfg Config) error {
	if c.Kind != KindEmbedded {
		if err := checkServers(ctx, c.Client, addr, cfg.Logger); err != nil {
			return err
		}
		c.watchReplicas(ctx)
	}
	if cfg.Registry == nil {
		return nil
	}
	stats := &poolCollector{c.Client, c.Bulk}
	if err := cfg.Registry.Register(stats); err != nil {
		return fmt.Errorf("register the metrics of redis: %w", err)
	}
	unregister := func() error { cfg.Registry.Unregister(stats); return nil }
	c.closeFuncs = append([]func() error{unregister}, c.closeFuncs...)
	return nil
}

// clientOptions returns the options of a client. Timeouts are short, because a player waits for
// each command. The sizes of pools and buffers apply to each node of a cluster.
func clientOptions(addr address) *redis.UniversalOptions {
	options := &redis.UniversalOptions{
		Addrs:      slices.Clone(addr.hosts), // a client appends to its slice
		MasterName: addr.master,
		Username:   addr.username,
		Password:   addr.password,
		DB:         addr.db,

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

		Protocol:                 2, // with RESP3 the client looks for notifications before each reply
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if addr.tls {
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return options
}

// Interval and timeout of checks for replicas.
const (
	replicaCheckInterval = 10 * time.Second
	replicaCheckTimeout  = 2 * time.Second
)

// HasReplicas reports whether at least one master has a replica that is online. Without
// a replica, no server can acknowledge a WAIT. HasReplicas does not block; the answer is
// up to about ten seconds old. It is always false for the embedded server.
func (c *Conn) HasReplicas() bool { return c.hasReplicas.Load() }

// watchReplicas checks for replicas once, and then starts a goroutine that checks
// regularly. Close ends the goroutine and waits for it.
func (c *Conn) watchReplicas(ctx context.Context) {
	c.checkReplicas(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var checks sync.WaitGroup
	checks.Go(func() { timer.Every(ctx, replicaCheckInterval, c.checkReplicas) })
	stop := func() error { cancel(); checks.Wait(); return nil }
	c.closeFuncs = append([]func() error{stop}, c.closeFuncs...)
}

// checkReplicas asks every master whether it has a replica. If a master does not answer,
// and no other master has a replica, the former result stays.
func (c *Conn) checkReplicas(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, replicaCheckTimeout)
	defer cancel()
	var hasReplica atomic.Bool
	checkOne := func(ctx context.Context, client redis.UniversalClient) error {
		info, err := client.Info(ctx, "replication").Result()
		if strings.Contains(info, "state=online") {
			hasReplica.Store(true)
		}
		return err
	}
	if err := eachMaster(ctx, c.Client, checkOne); err == nil || hasReplica.Load() {
		c.hasReplicas.Store(hasReplica.Load())
	}
}
