package testenv

import (
	"context"
	"errors"
	"slices"
	"sync"
	"syscall"
)

// Nodes are equal nodes on the same stores, for a program or a test. Everything that it started
// ends with this process. It is safe for concurrent use.
type Nodes struct {
	All      []*Node
	Masters  []*Server     // of a Redis that it started
	Cluster  *ClusterNodes // that it started; nil: none
	Postgres *Server       // that it started; nil: none

	proxy *Server // nil: none
	mu    sync.Mutex
	urls  []string // for players; a node that is down has its last one
}

// StartNodes starts the stores that the options name by a word. The words are "redis" (a
// redis-server) and "cluster" (a Redis cluster of three masters) for Redis, and "postgres" (a
// PostgreSQL with fsync) for Database. Then it starts nodes, one after another, because the first one creates the tables, and the proxy, if there is
// one. Only the first node imports the bank. A floor takes the place of all nodes.
func StartNodes(ctx context.Context, o NodeOptions) (s *Nodes, err error) {
	defer Recover(&err)
	s = new(Nodes)
	s.startStores(&o)
	if o.Proxy != "" {
		MustDo(o.behindProxy())
	}
	if o.Floor != nil {
		if o.Redis != "" {
			o.Floor = append(slices.Clip(o.Floor), "-redis", o.Redis)
		}
		s.add(Must(StartFloor(o.Floor...)))
		return s, nil
	}
	for range o.Count {
		s.add(Must(StartNode(ctx, o)))
		o.Bank = nil
	}
	if o.Proxy != "" {
		s.proxy = Must(startProxy(o.Proxy, s.All))
		s.urls = []string{s.proxy.URL} // clients know only this one
	}
	return s, nil
}

func (s *Nodes) add(n *Node) { s.All, s.urls = append(s.All, n), append(s.urls, n.URL) }

// AttachNodes returns nodes that others have started, by their URLs for players.
func AttachNodes(urls []string) *Nodes { return &Nodes{urls: urls} }

// URLs returns the addresses for players. Some nodes may be down.
func (s *Nodes) URLs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.urls)
}

// Restart starts a node again, at a new address if there is no proxy. If the node still runs,
// Restart stops it first.
func (s *Nodes) Restart(i int) error {
	err := s.All[i].Restart()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.proxy == nil {
		s.urls[i] = s.All[i].URL
	}
	return err
}

// Stop ends the nodes, and then the stores and the proxy.
func (s *Nodes) Stop() (err error) {
	for _, n := range s.All {
		_, failed := n.Stop()
		err = errors.Join(err, failed)
	}
	for _, server := range append(slices.Clip(s.Masters), s.Postgres, s.proxy) {
		if server != nil {
			err = errors.Join(err, server.End())
		}
	}
	return err
}

// startStores starts the stores, and replaces the words by their URLs. It fails by Must.
func (s *Nodes) startStores(o *NodeOptions) {
	switch o.Redis {
	case "redis":
		s.Masters = []*Server{Must(startRedis())}
		o.Redis = s.Masters[0].URL
	case "cluster":
		s.Cluster = Must(startCluster(3, o.RedisReplicas, takeOverEarly...))
		s.Masters, o.Redis = s.Cluster.Masters, s.Cluster.URL
	}
	if o.Database == "postgres" {
		s.Postgres = Must(startPostgres("-c", "shared_buffers=128MB", "-c", "max_connections=400"))
		o.Database = s.Postgres.URL
		raisePriority(append(slices.Clip(s.Masters), s.Postgres))
	}
}

// storePriority is the nice value of the stores of several nodes.
const storePriority = -10

// raisePriority raises the priority of stores above that of nodes and clients, if the
// system permits it. A store usually has a machine of its own. Here it would get the share
// of one thread among many when the load is highest.
func raisePriority(stores []*Server) {
	for _, s := range stores {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, s.PID(), storePriority) // only root may
	}
}
