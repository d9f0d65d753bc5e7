package redisx

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

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
