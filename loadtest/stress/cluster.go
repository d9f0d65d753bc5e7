package stress

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// ClusterConfig says which nodes to start, on which stores, and where to log progress.
type ClusterConfig struct {
	testenv.NodeOptions // of each node; a Binary "" is built from this tree; for Redis and Database see StartStores

	Nodes        int
	Attach       []string              // URLs of running nodes to use instead
	RedisCluster *testenv.ClusterNodes // serves the URL Redis; nil: another Redis does

	Proxy string // example of a proxy in front of the nodes; "": none; see testenv.StartProxy
	Log   func(format string, args ...any)
}

func (c *ClusterConfig) addFlags(flags *flag.FlagSet, redis, database string) {
	flags.StringVar(&c.Binary, "server", "", "the server's `binary`; none: it is built from this tree")
	flags.StringVar(&c.Redis, "redis", redis, "`URL`; redis: a redis-server is started; cluster: one of three masters")
	flags.StringVar(&c.Database, "database", database, "`URL`; none: a file for one node, else a PostgreSQL is started; postgres: one is started")
	c.Log = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
}

// cluster is the nodes of a run. It is safe for concurrent use.
type cluster struct {
	ClusterConfig
	checker  *checker.Checker
	life     context.Context
	nodes    []*testenv.Node // started by this program; after a fault a new process takes the place of a node
	proxy    *testenv.Server // nil: none
	stopOnce sync.Once

	mu        sync.Mutex
	addresses []string // of the nodes; a node that is down has its last one
}

// startCluster starts the stores and the nodes, or uses the nodes that already run. Several
// nodes cannot share a file as their database.
func startCluster(ctx context.Context, c ClusterConfig, found *checker.Checker) (*cluster, error) {
	a := &cluster{ClusterConfig: c, checker: found, life: ctx}
	if len(c.Attach) > 0 {
		a.addresses = c.Attach
		return a, nil
	}
	var err error
	if a.Binary, err = testenv.BuildServer(ctx, c.Binary); err != nil {
		return nil, err
	}
	if a.Database == "" && a.Nodes > 1 {
		a.Database = "postgres"
	}
	if _, _, err := a.StartStores(); err != nil {
		return nil, err
	}
	if a.Proxy != "" {
		if err := a.BehindProxy(a.Proxy); err != nil {
			return nil, err
		}
	}
	if a.nodes, err = testenv.StartNodes(ctx, a.Nodes, a.NodeOptions); err != nil {
		return nil, err
	}
	if a.Proxy == "" {
		for _, n := range a.nodes {
			a.addresses = append(a.addresses, n.URL)
		}
		return a, nil
	}
	if a.proxy, err = testenv.StartProxy(a.Proxy, a.nodes); err == nil {
		a.addresses = []string{a.proxy.URL} // clients know only this one
	}
	return a, err
}

func (a *cluster) stop() {
	a.stopOnce.Do(func() {
		var ending sync.WaitGroup
		for i := range a.nodes {
			ending.Go(func() { a.retire(i) })
		}
		ending.Wait()
		if a.proxy != nil {
			_ = a.proxy.End()
		}
	})
}

// retire ends a node as an operator does. An unexpected exit and a panic are violations.
func (a *cluster) retire(i int) {
	a.checkRunning(i)
	n := a.nodes[i]
	if code, err := n.Stop(); (code != 0 || err != nil) && a.life.Err() == nil {
		a.checker.Violations.Add("%s had to stop, and ended with %d (%v): %s", nodeName(i), code, err, tail(n.Log()))
	}
	log := n.Log()
	for _, word := range []string{"DATA RACE", "panic", "fatal error"} {
		if at := strings.Index(log, word); at >= 0 {
			a.checker.Violations.Add("%s: its log has a %s: %.3000s", nodeName(i), word, log[at:])
		}
	}
}

// checkRunning reports a node that has ended by itself.
func (a *cluster) checkRunning(i int) {
	select {
	case <-a.nodes[i].Ended():
		if a.life.Err() == nil {
			a.checker.Violations.Add("%s ended by itself: %s", nodeName(i), tail(a.nodes[i].Log()))
		}
	default:
	}
}

func nodeName(i int) string { return fmt.Sprintf("node %d", i+1) }

func tail(log string) string { return log[max(0, len(log)-3000):] }

// urls returns the addresses of all nodes. Some may be down.
func (a *cluster) urls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.addresses)
}

// restart starts a node again, at a new address if no proxy knows the former one.
func (a *cluster) restart(i int) error {
	if err := a.nodes[i].Restart(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.proxy == nil {
		a.addresses[i] = a.nodes[i].URL
	}
	return nil
}

// behaviours reads the counts of behaviours. Every node knows the counts of all nodes.
func (a *cluster) behaviours(ctx context.Context) (b checker.Behaviours, err error) {
	m, err := a.nodes[0].Metrics(ctx)
	count := func(name string) int64 { return int64(m.Sum("laststand_behaviours_"+name, `game="demo"`)) }
	return checker.Behaviours{
		Offered: count("offered_total"), Sent: count("sent_total"), Dropped: count("dropped_total"), Queued: count("queued"), InFlight: count("in_flight"),
	}, err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
