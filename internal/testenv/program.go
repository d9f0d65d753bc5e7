package testenv

import (
	"context"
	"syscall"
)

// StartStores starts the stores that the options name by a word instead of a URL, for a
// program without a test. Then it replaces each word by the URL. The words are "redis" (a
// redis-server) and "cluster" (a Redis cluster of three masters) for Redis, and "postgres" (a
// PostgreSQL with fsync) for Database. It returns the servers that it has started.
func (o *NodeOptions) StartStores() (redis []*Server, postgres *Server, err error) {
	switch o.Redis {
	case "redis":
		var server *Server
		if server, err = startRedis(); err == nil {
			server.stopAtExit()
			redis = []*Server{server}
		}
	case "cluster":
		var nodes ClusterNodes
		nodes, err = StartClusterUntilExit(3, 0)
		redis = nodes.Masters
	}
	if err != nil {
		return redis, nil, err
	}
	if len(redis) > 0 {
		o.Redis = clusterURL(redis)
	}
	if o.Database == "postgres" {
		if postgres, err = startPostgres("-c", "shared_buffers=128MB", "-c", "max_connections=400"); err != nil {
			return redis, nil, err
		}
		postgres.stopAtExit()
		o.Database = postgres.URL
	}
	return redis, postgres, nil
}

// StartNodes starts equal nodes, one after another, because the first one creates the tables.
// Only the first one imports the bank. After an error it returns the nodes that it has
// started.
func StartNodes(ctx context.Context, count int, o NodeOptions) (nodes []*Node, err error) {
	for range count {
		n, err := StartNode(ctx, o)
		if err != nil {
			return nodes, err
		}
		nodes, o.Bank = append(nodes, n), nil
	}
	return nodes, nil
}

// storePriority is the nice value of stores after RaisePriority.
const storePriority = -10

// RaisePriority raises the priority of a store above that of nodes and clients, if the
// system permits it. A store usually has a machine of its own. Here it would get the share
// of one thread among many when the load is highest.
func (s *Server) RaisePriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, s.PID(), storePriority) // only root may
}

// PID returns the id of the running server's process.
func (s *Server) PID() int { return s.child.pid() }

// End ends a server that a program has started. It does nothing if the server has ended.
func (s *Server) End() error { return s.child.stop(syscall.SIGINT) }
