package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

// clusterOptions say which nodes and stores to start.
type clusterOptions struct {
	nodes    int
	redis    string              // "": embedded; "redis": one redis-server; "cluster": three masters
	postgres bool                // false: SQLite
	floor    []string            // subprocess and flags of a floor in place of nodes; with Redis it also gets -redis; nil: none
	node     testenv.NodeOptions // of each node; the first node imports the bank
}

// cluster is nodes and the stores that they share.
type cluster struct {
	urls     []string // of the nodes, for players
	pids     []int    // of the nodes
	nodes    []*testenv.Node
	floor    *testenv.Subprocess // nil: there are nodes
	stores   []*testenv.Server
	masters  []*redis.Client // to each master of Redis; none if it is embedded
	postgres *testenv.Server // nil: SQLite
	ledger   *pgx.Conn       // to PostgreSQL; nil: SQLite
}

// startCluster starts the stores and then the nodes, or a floor in place of the nodes.
func startCluster(ctx context.Context, o clusterOptions) (*cluster, error) {
	c := new(cluster)
	err := c.startStores(ctx, &o)
	if err == nil && o.floor != nil {
		err = c.startFloor(ctx, o.floor)
	}
	for i := 0; i < o.nodes && err == nil; i++ {
		if i > 0 {
			o.node.Bank = nil
		}
		var n *testenv.Node
		if n, err = testenv.StartNode(ctx, o.node); err == nil {
			c.nodes, c.urls, c.pids = append(c.nodes, n), append(c.urls, n.URL), append(c.pids, n.PID())
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cluster) startStores(ctx context.Context, o *clusterOptions) (err error) {
	switch o.redis {
	case "redis":
		server, err := testenv.StartRedis()
		if err != nil {
			return err
		}
		o.node.Redis, c.stores = server.URL, append(c.stores, server)
	case "cluster":
		if o.node.Redis, c.stores, err = testenv.StartProgramCluster(3); err != nil {
			return err
		}
	}
	for _, server := range c.stores {
		c.masters = append(c.masters, redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 64}))
	}
	if !o.postgres {
		return nil
	}
	if c.postgres, err = testenv.StartPostgres(); err != nil {
		return err
	}
	o.node.Database, c.stores = c.postgres.URL, append(c.stores, c.postgres)
	for _, store := range c.stores { // of several nodes; see RaisePriority
		store.RaisePriority()
	}
	c.ledger, err = pgx.Connect(ctx, c.postgres.URL)
	return err
}

// startFloor starts a floor in place of nodes; see serveFloor.
func (c *cluster) startFloor(ctx context.Context, arguments []string) (err error) {
	if len(c.masters) > 0 {
		arguments = append(arguments, "-redis", c.masters[0].Options().Addr)
	}
	if c.floor, err = testenv.StartSubprocess(ctx, arguments...); err != nil {
		return err
	}
	address, err := bufio.NewReader(c.floor.Output()).ReadString('\n')
	c.urls, c.pids = []string{"http://" + strings.TrimSpace(address)}, []int{c.floor.ID()}
	return err
}

// stop ends the nodes, and then the stores.
func (c *cluster) stop() error {
	var errs []error
	for _, n := range c.nodes {
		_, err := n.Stop()
		errs = append(errs, err)
	}
	if c.floor != nil {
		errs = append(errs, c.floor.End())
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

// node returns the first node, nil for a floor.
func (c *cluster) node() *testenv.Node {
	if len(c.nodes) == 0 {
		return nil
	}
	return c.nodes[0]
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
