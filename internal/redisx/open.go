package redisx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open connects and checks the server. The server must answer within 5 s and be Redis
// 7.0 or newer; so must every master of a cluster. Errors name the address, the cause and
// what to do. The context limits only Open, not the life of the Conn.
func Open(ctx context.Context, cfg Config) (*Conn, error) {
	addr, err := parseURL(cfg.URL)
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
	if err := conn.checkAndRegister(ctx, addr, cfg); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// dial makes the clients of a connection. It does not contact a server yet, except that it
// starts an embedded one.
func dial(addr address) (*Conn, error) {
	if addr.kind == KindEmbedded {
		return openEmbedded(), nil
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
	stats := newPoolCollector(c.Client, c.Bulk)
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
