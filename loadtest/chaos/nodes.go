package chaos

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

// node is a server process; after a fault a new process takes its place.
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

// nodes are the nodes of a run. It is safe for concurrent use.
type nodes struct {
	checker *checker.Checker
	life    context.Context
	all     []*node
	once    sync.Once
	turn    atomic.Int64 // index of the next address
	outages outages

	mu      sync.Mutex
	healthy []*node // nodes without a fault now, the one that has run longest first
}

// startNodes starts the nodes. The first starts alone, because it creates the tables.
func startNodes(ctx context.Context, c Config, found *checker.Checker) (*nodes, error) {
	a := &nodes{checker: found, life: ctx, all: make([]*node, c.Nodes)}
	start := func(i int) error {
		n, err := testenv.StartNode(ctx, testenv.NodeOptions{
			Binary: c.Binary, Env: c.Env, Redis: c.Redis, Database: c.Database, Drain: 8 * time.Second, Settings: settings,
		})
		if err != nil {
			return err
		}
		a.all[i] = &node{Node: n, name: fmt.Sprintf("node %d", i+1), url: n.URL}
		return nil
	}
	if err := start(0); err != nil {
		return nil, err
	}
	var others errgroup.Group
	for i := 1; i < c.Nodes; i++ {
		others.Go(func() error { return start(i) })
	}
	a.healthy = a.all
	err := others.Wait()
	a.healthy = slices.Clone(a.all)
	return a, err
}

// stop ends all nodes, once. An unexpected exit is a violation.
func (a *nodes) stop() {
	a.once.Do(func() {
		var ending sync.WaitGroup
		for _, n := range a.all {
			ending.Go(func() { a.retire(n) })
		}
		ending.Wait()
	})
}

// retire ends a node as an operator does.
func (a *nodes) retire(n *node) {
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
func (a *nodes) checkRunning(n *node) {
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
func (a *nodes) urls() []string {
	all := make([]string, len(a.all))
	for i, n := range a.all {
		all[i] = n.address()
	}
	return all
}

// next returns the addresses of the nodes in turn.
func (a *nodes) next() string { return a.all[int(a.turn.Add(1))%len(a.all)].address() }

// takeHealthy returns the node that has run longest, for the next fault. It returns nil
// if no other node would be left.
func (a *nodes) takeHealthy() *node {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.healthy) < 2 {
		return nil
	}
	n := a.healthy[0]
	a.healthy = a.healthy[1:]
	return n
}

func (a *nodes) heal(n *node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.healthy = append(a.healthy, n)
}
