package bench

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

// clusterOptions say which nodes and stores to start.
type clusterOptions struct {
	nodes int
	floor []string            // flags of a floor in place of the nodes; with Redis it also gets -redis; nil: none
	node  testenv.NodeOptions // of each node; for Redis and Database see StartStores
}

// cluster is nodes, or a floor in their place, and connections to the stores that they share.
type cluster struct {
	*testenv.Nodes
	masters []*redis.Client // to each master of Redis; none if it is embedded
	ledger  *pgx.Conn       // to PostgreSQL; nil: SQLite
}

// startCluster starts the stores and then the nodes, or a floor in place of the nodes.
func startCluster(ctx context.Context, o clusterOptions) (c cluster, err error) {
	if c.Nodes, err = testenv.StartNodes(ctx, o.nodes, o.node); err != nil {
		return c, err
	}
	for _, server := range c.Masters {
		c.masters = append(c.masters, redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 64}))
	}
	if c.Postgres != nil {
		if c.ledger, err = pgx.Connect(ctx, c.Postgres.URL); err != nil {
			return c, err
		}
	}
	if o.floor == nil {
		return c, nil
	}
	arguments := append([]string{FloorProcess}, o.floor...)
	if len(c.Masters) > 0 {
		arguments = append(arguments, "-redis", c.Masters[0].Addr)
	}
	return c, c.AddFloor(arguments...)
}

func (c cluster) stop() error {
	errs := []error{c.Stop()}
	for _, m := range c.masters {
		errs = append(errs, m.Close())
	}
	if c.ledger != nil {
		_ = c.ledger.Close(context.Background()) // its server has ended
	}
	return errors.Join(errs...)
}
