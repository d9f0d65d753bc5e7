package runner

import (
	"context"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
)

// environment is the nodes of a run and the stores that they use.
type environment struct {
	guard    *guard
	stores   []*testenv.Server
	servers  []*testenv.Node
	urls     []string // of players
	ops      []string // of operations
	redis    int      // process id; 0: not started by us
	database string   // description of the database, for the report
}

// startEnvironment starts the nodes of a configuration and adds them to the guard, or uses
// the nodes that already run.
func startEnvironment(ctx context.Context, c Config, g *guard) (s *environment, err error) {
	s = &environment{guard: g, urls: c.Attach, ops: c.Ops, database: "what they have"}
	if len(c.Attach) > 0 {
		return s, nil
	}
	defer func() {
		if err != nil {
			s.stop()
			s = nil
		}
	}()
	if c.Binary, err = testenv.BuildServer(ctx, c.Binary); err != nil {
		return s, err
	}
	if err := s.store(&c); err != nil {
		return s, err
	}
	return s, s.start(ctx, c)
}

// store starts the stores that the configuration needs. Several nodes cannot share a file.
func (s *environment) store(c *Config) (err error) {
	switch c.Redis {
	case "":
		redis, err := testenv.StartRedis()
		if err != nil {
			return err
		}
		c.Redis, s.redis, s.stores = redis.URL, redis.PID(), append(s.stores, redis)
	case "cluster":
		if c.Redis, s.stores, err = testenv.StartCluster(3); err != nil {
			return err
		}
	}
	s.database = "SQLite"
	if c.Database != "" || c.Nodes > 1 {
		s.database = "PostgreSQL"
	}
	if c.Database == "postgres" || c.Database == "" && c.Nodes > 1 {
		postgres, err := testenv.StartPostgres()
		if err != nil {
			return err
		}
		c.Database, s.stores = postgres.URL, append(s.stores, postgres)
	}
	for _, store := range s.stores {
		store.RaisePriority()
		if err := s.guard.add(store.PID()); err != nil {
			return err
		}
	}
	return nil
}

// start starts the nodes. The first one starts alone, because it creates the tables.
func (s *environment) start(ctx context.Context, c Config) error {
	s.servers = make([]*testenv.Node, c.Nodes)
	one := func(i int) (err error) {
		s.servers[i], err = testenv.StartNode(ctx, testenv.NodeOptions{
			Binary: c.Binary, Env: c.Env, Redis: c.Redis, Database: c.Database, Settings: c.settings(),
		})
		if err != nil {
			return err
		}
		return s.guard.add(s.servers[i].PID())
	}
	if err := one(0); err != nil {
		return err
	}
	var rest errgroup.Group
	for i := 1; i < c.Nodes; i++ {
		rest.Go(func() error { return one(i) })
	}
	if err := rest.Wait(); err != nil {
		return err
	}
	for _, n := range s.servers {
		s.urls, s.ops = append(s.urls, n.URL), append(s.ops, n.Ops)
	}
	return nil
}

// stop ends everything that was started, nodes before stores.
func (s *environment) stop() {
	var ending errgroup.Group
	for _, n := range s.servers {
		if n != nil {
			ending.Go(func() error { _, err := n.Stop(); return err })
		}
	}
	_ = ending.Wait() // a node that does not stop is killed
	for _, store := range s.stores {
		_ = store.End() // a store that does not stop is killed
	}
}
