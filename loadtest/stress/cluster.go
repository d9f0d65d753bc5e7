package stress

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// ClusterConfig says which nodes to start, on which stores, and where to log progress.
type ClusterConfig struct {
	Nodes    int
	Binary   string // of the server; "": it is built from this tree
	Env      []string
	Redis    string   // URL; "": a redis-server is started; cluster: one of three masters
	Database string   // URL; "": a file for one node, else a PostgreSQL is started; postgres: one is started
	Attach   []string // URLs of running nodes to use instead
	Ops      []string // operations URLs of these nodes; none: their metrics are unknown
	Log      func(format string, args ...any)

	settings string        // configuration of the nodes
	drain    time.Duration // how long a node continues after the request to stop
}

// cluster is the nodes of a run. It is safe for concurrent use.
type cluster struct {
	ClusterConfig
	checker  *checker.Checker
	life     context.Context
	nodes    []*node // started by this program
	redisPID int     // 0: this program has not started a redis-server
	turn     atomic.Int64
	stopOnce sync.Once

	mu      sync.Mutex
	healthy []*node // nodes without a fault now, the one that has run longest first
}

// node is a server process. After a fault a new process takes its place.
type node struct {
	*testenv.Node
	name string

	mu  sync.Mutex
	url string // of the running process, or of the last one
}

func (n *node) address() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.url
}

func (n *node) restart() error {
	if err := n.Restart(); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.url = n.URL
	return nil
}

// startCluster starts the stores and the nodes, or uses the nodes that already run. The
// first node starts alone, because it creates the tables.
func startCluster(ctx context.Context, c ClusterConfig, found *checker.Checker) (*cluster, error) {
	a := &cluster{ClusterConfig: c, checker: found, life: ctx}
	if len(c.Attach) > 0 {
		return a, nil
	}
	var err error
	if a.Binary, err = testenv.BuildServer(ctx, c.Binary); err != nil {
		return nil, err
	}
	if err := a.startStores(); err != nil {
		return nil, err
	}
	a.nodes = make([]*node, c.Nodes)
	start := func(i int) error {
		n, err := testenv.StartNode(ctx, testenv.NodeOptions{
			Binary: a.Binary, Env: c.Env, Redis: a.Redis, Database: a.Database, Drain: c.drain, Settings: c.settings,
		})
		if err == nil {
			a.nodes[i] = &node{Node: n, name: fmt.Sprintf("node %d", i+1), url: n.URL}
		}
		return err
	}
	if err := start(0); err != nil {
		return nil, err
	}
	var others errgroup.Group
	for i := 1; i < c.Nodes; i++ {
		others.Go(func() error { return start(i) })
	}
	if err := others.Wait(); err != nil {
		return nil, err
	}
	for _, n := range a.nodes {
		a.Ops = append(a.Ops, n.OpsURL)
	}
	a.healthy = slices.Clone(a.nodes)
	return a, nil
}

// startStores starts the stores that are missing. Several nodes cannot share a file.
func (a *cluster) startStores() (err error) {
	switch a.Redis {
	case "":
		redis, err := testenv.StartRedis()
		if err != nil {
			return err
		}
		a.Redis, a.redisPID = redis.URL, redis.PID()
	case "cluster":
		if a.Redis, _, err = testenv.StartProgramCluster(3); err != nil {
			return err
		}
	}
	if a.Database == "postgres" || a.Database == "" && a.Nodes > 1 {
		postgres, err := testenv.StartPostgres()
		if err != nil {
			return err
		}
		a.Database = postgres.URL
	}
	return nil
}

// stop ends all nodes, once.
func (a *cluster) stop() {
	a.stopOnce.Do(func() {
		var ending sync.WaitGroup
		for _, n := range a.nodes {
			ending.Go(func() { a.retire(n) })
		}
		ending.Wait()
	})
}

// retire ends a node as an operator does. An unexpected exit and a panic are violations.
func (a *cluster) retire(n *node) {
	a.checkRunning(n)
	if code, err := n.Stop(); (code != 0 || err != nil) && a.life.Err() == nil {
		a.checker.Violations.Add("%s had to stop, and ended with %d (%v): %s", n.name, code, err, tail(n.Log()))
	}
	log := n.Log()
	for _, word := range []string{"DATA RACE", "panic"} {
		if at := strings.Index(log, word); at >= 0 {
			a.checker.Violations.Add("%s: its log has a %s: %.3000s", n.name, word, log[at:])
		}
	}
}

// checkRunning reports a node that has ended by itself.
func (a *cluster) checkRunning(n *node) {
	select {
	case <-n.Ended():
		if a.life.Err() == nil {
			a.checker.Violations.Add("%s ended by itself: %s", n.name, tail(n.Log()))
		}
	default:
	}
}

func tail(log string) string { return log[max(0, len(log)-3000):] }

// urls returns the addresses of all nodes. Some may be down.
func (a *cluster) urls() []string {
	if len(a.Attach) > 0 {
		return a.Attach
	}
	all := make([]string, len(a.nodes))
	for i, n := range a.nodes {
		all[i] = n.address()
	}
	return all
}

// next returns the addresses of the nodes in turn.
func (a *cluster) next() string {
	urls := a.urls()
	return urls[int(a.turn.Add(1))%len(urls)]
}

// takeHealthy returns the node that has run longest, for the next fault. It returns nil
// if no other node would be left.
func (a *cluster) takeHealthy() *node {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.healthy) < 2 {
		return nil
	}
	n := a.healthy[0]
	a.healthy = a.healthy[1:]
	return n
}

func (a *cluster) heal(n *node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.healthy = append(a.healthy, n)
}

// behaviours reads the counts of behaviours. Every node knows the counts of all nodes.
func (a *cluster) behaviours(ctx context.Context) (b checker.Behaviours, err error) {
	m, err := testenv.ReadMetrics(ctx, a.Ops[0])
	count := func(name string) int64 { return int64(m.Sum("laststand_behaviours_"+name, `game="demo"`)) }
	return checker.Behaviours{
		Offered: count("offered_total"), Sent: count("sent_total"), Dropped: count("dropped_total"), Queued: count("queued"), InFlight: count("in_flight"),
	}, err
}
