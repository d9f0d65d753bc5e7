package stress

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// ClusterConfig says which nodes to start, on which stores, and where to log progress.
type ClusterConfig struct {
	testenv.NodeOptions `kong:"-"` // of each node; a Binary "" is built from this tree; for Redis and Database see StartStores

	Nodes        int                              `kong:"-"`
	Attach       []string                         `kong:"-"` // URLs of running nodes to use instead
	RedisCluster *testenv.ClusterNodes            `kong:"-"` // serves the URL Redis; nil: another Redis does
	Log          func(format string, args ...any) `kong:"-"`
}

// ClusterFlags are the flags of programs that start a cluster.
type ClusterFlags struct {
	Server   string `placeholder:"BINARY" help:"The binary of the server; none: it is built from this tree."`
	Redis    string `default:"${redis}" help:"A URL; redis: a redis-server is started; cluster: one of three masters."`
	Database string `default:"${database}" help:"A URL; none: a file for one node, else a PostgreSQL is started; postgres: one is started."`
}

func (f ClusterFlags) addTo(c *ClusterConfig) {
	c.Binary, c.Redis, c.Database = f.Server, f.Redis, f.Database
	c.Log = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
}

// cluster is the nodes of a run. It is safe for concurrent use.
type cluster struct {
	ClusterConfig
	*testenv.Nodes // nil: those of Attach
	checker        *checker.Checker
	life           context.Context
	stopOnce       sync.Once
}

// startCluster starts the stores and the nodes, or uses the nodes that already run. Several
// nodes cannot share a file as their database.
func startCluster(ctx context.Context, c ClusterConfig, found *checker.Checker) *cluster {
	a := &cluster{ClusterConfig: c, checker: found, life: ctx, Nodes: new(testenv.Nodes)}
	if len(c.Attach) > 0 {
		return a
	}
	a.Binary = testenv.Must(testenv.BuildServer(ctx, c.Binary))
	if a.Database == "" && c.Nodes > 1 {
		a.Database = "postgres"
	}
	a.Nodes = testenv.Must(testenv.StartNodes(ctx, c.Nodes, a.NodeOptions))
	return a
}

// urls returns the addresses of all nodes. Some may be down.
func (a *cluster) urls() []string {
	if len(a.Attach) > 0 {
		return a.Attach
	}
	return a.URLs()
}

func (a *cluster) stop() {
	a.stopOnce.Do(func() {
		var ending sync.WaitGroup
		for i := range a.All {
			ending.Go(func() { a.retire(i) })
		}
		ending.Wait()
	})
}

// retire ends a node as an operator does. An unexpected exit and a panic are violations.
func (a *cluster) retire(i int) {
	a.checkRunning(i)
	n := a.All[i]
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
	case <-a.All[i].Ended():
		if a.life.Err() == nil {
			a.checker.Violations.Add("%s ended by itself: %s", nodeName(i), tail(a.All[i].Log()))
		}
	default:
	}
}

func nodeName(i int) string { return fmt.Sprintf("node %d", i+1) }

func tail(log string) string { return log[max(0, len(log)-3000):] }

// behaviours reads the counts of behaviours. Every node knows the counts of all nodes.
func (a *cluster) behaviours(ctx context.Context) (b checker.Behaviours, err error) {
	m, err := a.All[0].Metrics(ctx)
	count := func(name string) int64 { return int64(m.Sum("laststand_behaviours_"+name, `game="demo"`)) }
	return checker.Behaviours{
		Offered: count("offered_total"), Sent: count("sent_total"), Dropped: count("dropped_total"), Queued: count("queued"), InFlight: count("in_flight"),
	}, err
}
