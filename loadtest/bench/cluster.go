package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// cluster is nodes and the stores that they share.
type cluster struct {
	urls     []string        // of the nodes, for players
	nodes    []*testenv.Node // or a floor
	stores   []*testenv.Server
	masters  []*redis.Client // to each master of Redis; none if it is embedded
	postgres *testenv.Server // nil: SQLite
	ledger   *pgx.Conn       // to PostgreSQL; nil: SQLite
}

// startCluster starts the stores and then the nodes, or a floor in place of the nodes.
func startCluster(ctx context.Context, o clusterOptions) (*cluster, error) {
	c := new(cluster)
	err := c.startStores(ctx, &o)
	switch {
	case err != nil:
	case o.floor != nil:
		arguments := append([]string{FloorProcess}, o.floor...)
		if len(c.masters) > 0 {
			arguments = append(arguments, "-redis", c.masters[0].Options().Addr)
		}
		var n *testenv.Node
		n, err = testenv.StartFloor(arguments...)
		c.nodes = []*testenv.Node{n}
	default:
		c.nodes, err = testenv.StartNodes(ctx, o.nodes, o.node)
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	for _, n := range c.nodes {
		c.urls = append(c.urls, n.URL)
	}
	return c, nil
}

func (c *cluster) startStores(ctx context.Context, o *clusterOptions) (err error) {
	c.stores, c.postgres, err = o.node.StartStores()
	if err != nil {
		return err
	}
	for _, server := range c.stores {
		c.masters = append(c.masters, redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 64}))
	}
	if c.postgres == nil {
		return nil
	}
	c.stores = append(c.stores, c.postgres)
	for _, store := range c.stores { // of several nodes; see RaisePriority
		store.RaisePriority()
	}
	c.ledger, err = pgx.Connect(ctx, c.postgres.URL)
	return err
}

func (c *cluster) stop() error {
	var errs []error
	for _, n := range c.nodes {
		_, err := n.Stop()
		errs = append(errs, err)
	}
	for _, m := range c.masters {
		errs = append(errs, m.Close())
	}
	if c.ledger != nil {
		errs = append(errs, c.ledger.Close(context.Background()))
	}
	for _, s := range c.stores {
		errs = append(errs, s.End())
	}
	return errors.Join(errs...)
}

// textBank returns a bank of text questions, which the text `right` answers.
func textBank(questions int) []byte {
	all := make([]map[string]any, questions)
	for i := range all {
		all[i] = map[string]any{
			"kind": "text", "difficulty": "easy", "text": fmt.Sprintf("What is asked in question %d?", i), "accepted": []string{"right"},
		}
	}
	raw, _ := json.Marshal(map[string]any{ // plain fields always encode
		"bank": "load", "lang": "en", "category": "load", "source": "none", "licence": "CC0-1.0", "questions": all,
	})
	return raw
}
