package stress

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"laststand/internal/testenv"
)

// ClusterConfig says which nodes to start, on which stores, and where to log progress.
type ClusterConfig struct {
	Server   string `placeholder:"BINARY" help:"The binary of the server; none: it is built from this tree."`
	Redis    string `default:"${redis}" help:"A URL; redis: a redis-server is started; cluster: one of three masters."`
	Database string `default:"${database}" help:"A URL; none: a file for one node, else a PostgreSQL is started; postgres: one is started."`

	Node testenv.NodeOptions              `kong:"-"` // further options of each node
	Log  func(format string, args ...any) `kong:"-"` // nil: to the standard output
}

// startNodes starts the stores and the nodes. Several nodes cannot share a file as their
// database.
func (r *run) startNodes(ctx context.Context, count int) {
	o := r.Node
	o.Binary, o.Redis, o.Database, o.Count = testenv.Must(testenv.BuildServer(ctx, r.Server)), r.Redis, r.Database, count
	if o.Database == "" && count > 1 {
		o.Database = "postgres"
	}
	r.Server, r.Nodes = o.Binary, testenv.Must(testenv.StartNodes(ctx, o))
}

// stopNodes ends all nodes. Further calls do nothing.
func (r *run) stopNodes() {
	r.stopOnce.Do(func() {
		var ending sync.WaitGroup
		for i := range r.All {
			ending.Go(func() { r.retire(i) })
		}
		ending.Wait()
	})
}

// retire ends a node as an operator does. An unexpected exit and a panic are violations.
func (r *run) retire(i int) {
	r.checkRunning(i)
	n := r.All[i]
	code, err := n.Stop()
	log := n.Log()
	r.checker.Violations.AddIf((code != 0 || err != nil) && r.life.Err() == nil, "%s had to stop, and ended with %d (%v): %s", nodeName(i), code, err, tail(log))
	for _, word := range []string{"DATA RACE", "panic", "fatal error"} {
		if at := strings.Index(log, word); at >= 0 {
			r.checker.Violations.Add("%s: its log has a %s: %.3000s", nodeName(i), word, log[at:])
		}
	}
}

// checkRunning reports a node that has ended by itself.
func (r *run) checkRunning(i int) {
	select {
	case <-r.All[i].Ended():
		r.checker.Violations.AddIf(r.life.Err() == nil, "%s ended by itself: %s", nodeName(i), tail(r.All[i].Log()))
	default:
	}
}

func nodeName(i int) string { return fmt.Sprintf("node %d", i+1) }

func tail(log string) string { return log[max(0, len(log)-3000):] }

// compareBehaviours compares the counts of behaviours with the posted ones that the server has answered
// for, accepted or dropped at intake. Every node knows the counts of all nodes.
func (r *run) compareBehaviours(ctx context.Context, posted float64) {
	m := testenv.Must(r.All[0].Metrics(ctx))
	count := func(name string) float64 { return m.Sum("laststand_behaviours_"+name, `game="demo"`) }
	offered, counted := count("offered_total"), count("sent_total")+count("dropped_total")+count("queued")+count("in_flight")
	testenv.FailIf(offered != counted, "behaviours do not add up: %.0f were offered, and %.0f are sent, dropped, queued or in flight", offered, counted)
	testenv.FailIf(offered != posted, "%.0f behaviours were answered for, and %.0f count as offered", posted, offered)
}
