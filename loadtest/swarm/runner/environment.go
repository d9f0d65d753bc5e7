package runner

import (
	"context"
	"os"

	"golang.org/x/sync/errgroup"

	"laststand/loadtest/harness"
)

// environment is the nodes of a run and the stores that they use.
type environment struct {
	guard    *guard
	stores   harness.Stores
	servers  []*harness.Server
	urls     []string // of players
	ops      []string // of operations
	redis    int      // process id; 0: not started by us
	binary   func()   // removes the built server
	database string   // description of the database, for the report
}

// startEnvironment starts the nodes of a configuration and adds them to the guard, or uses
// the nodes that already run.
func startEnvironment(ctx context.Context, c Config, g *guard) (s *environment, err error) {
	s = &environment{guard: g, binary: func() {}, urls: c.Attach, ops: c.Ops, database: "what they have"}
	if len(c.Attach) > 0 {
		return s, nil
	}
	defer func() {
		if err != nil {
			s.stop()
			s = nil
		}
	}()
	if s.stores.Dir, err = os.MkdirTemp("", "swarm-"); err != nil {
		return s, err
	}
	if c.Binary, s.binary, err = harness.Build(ctx, c.Binary); err != nil {
		return s, err
	}
	if err := s.store(ctx, &c); err != nil {
		return s, err
	}
	return s, s.start(ctx, c)
}

// store starts the stores that the configuration needs. Several nodes cannot share a file.
func (s *environment) store(ctx context.Context, c *Config) (err error) {
	if c.Redis == "" {
		if c.Redis, s.redis, err = s.stores.Redis(ctx); err != nil {
			return err
		}
	}
	if c.Redis == "cluster" {
		if c.Redis, err = s.stores.Cluster(ctx); err != nil {
			return err
		}
	}
	if err := s.guard.add(s.stores.Processes()...); err != nil {
		return err
	}
	s.database = "SQLite"
	if c.Database != "" || c.Nodes > 1 {
		s.database = "PostgreSQL"
	}
	if c.Database == "postgres" || c.Database == "" && c.Nodes > 1 {
		if c.Database, err = s.stores.Postgres(ctx); err != nil {
			return err
		}
	}
	return s.guard.add(s.stores.Processes()...)
}

// start starts the nodes. The first one starts alone, because it creates the tables.
func (s *environment) start(ctx context.Context, c Config) error {
	s.servers = make([]*harness.Server, c.Nodes)
	one := func(i int) (err error) {
		s.servers[i], err = harness.Start(ctx, harness.Options{
			Binary: c.Binary, Env: c.Env, RedisURL: c.Redis, Database: c.Database, Settings: c.settings(),
		})
		if err != nil {
			return err
		}
		return s.guard.add(s.servers[i].Process())
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
			ending.Go(func() error { n.Stop(); return nil })
		}
	}
	_ = ending.Wait() // Stop returns no error
	s.stores.Stop()
	s.binary()
	if s.stores.Dir != "" {
		_ = os.RemoveAll(s.stores.Dir)
	}
}
