// Package stress plays on servers with many honest players and checks everything that
// they receive, and everything that is stored at the end, against the wire contract; see
// package checker. Swarm loads the servers. Chaos kills, stalls and drains them.
//
// Start reading at run.
package stress

import (
	"context"
	"flag"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"laststand/loadtest/checker"
	"laststand/loadtest/client"
	"laststand/loadtest/players"
	"laststand/loadtest/stats"
)

// run is one run of players on a cluster.
type run struct {
	cluster *cluster
	checker *checker.Checker
	stats   *stats.Recorder
	group   *players.Group
	report  Report
	rejoins bool // at the end, the players of duels enter the queue once more

	playing     context.Context // of the players
	stopPlaying context.CancelFunc

	mu      sync.Mutex
	samples []Sample
	marks   []Mark
}

// Mark is a time at which something changes.
type Mark struct {
	AtS  float64 `json:"at_s"`
	What string  `json:"what"`
}

// addFlags registers the flags of the nodes.
func (c *ClusterConfig) addFlags(flags *flag.FlagSet, nodes int, redis, database string) {
	flags.IntVar(&c.Nodes, "nodes", nodes, "servers")
	flags.StringVar(&c.Binary, "server", "", "the server's binary; none: it is built from this tree")
	flags.StringVar(&c.Redis, "redis", redis, "URL; none: a redis-server is started; cluster: one of three masters")
	flags.StringVar(&c.Database, "database", database, "URL; none: a file for one node, else a PostgreSQL is started; postgres: one is started")
}

// newRun starts the cluster of a run. span is the length of the spans of its figures.
func newRun(ctx context.Context, c ClusterConfig, rules *checker.Checker, span time.Duration) (r *run, err error) {
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	r = &run{checker: rules, stats: stats.New(span)}
	r.playing, r.stopPlaying = context.WithCancel(ctx)
	r.cluster, err = startCluster(ctx, c, rules)
	return r, err
}

// end ends the players, if they still play, and then the nodes.
func (r *run) end() {
	r.stopPlaying()
	if r.group != nil {
		r.group.Wait()
		r.group.Disconnect()
	}
	r.cluster.stop()
}

// mark records a mark and prints it.
func (r *run) mark(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := Mark{AtS: r.stats.Seconds(), What: fmt.Sprintf(format, args...)}
	r.marks = append(r.marks, m)
	r.cluster.Log("%7.1f s  %s", m.AtS, m.What)
}

// dialer returns the dialer of the nth client; nil: any local address.
func (r *run) dialer(n int) *net.Dialer {
	for _, url := range r.cluster.urls() {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			return nil
		}
	}
	return client.FromAddress(n / client.PerAddress)
}

// finish lets the players finish their matches, and checks everything that is stored.
// One match and one player in so many as share says are read by themselves.
func (r *run) finish(ctx context.Context, share int) (err error) {
	r.mark("no new matches")
	r.group.Stop()
	r.group.Wait()
	if r.rejoins {
		r.group.Rejoin()
	}
	r.group.Disconnect()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.mark("all has been played; checking what is stored")
	r.checker.JudgeRest()
	stored := checker.Stored{Checker: r.checker, Get: r.get, Share: share}
	if r.report.Compared, err = stored.CheckStored(ctx); err != nil {
		return err
	}
	if posted := r.group.Posted.Load(); posted > 0 {
		err = stored.AwaitBehaviours(ctx, posted, r.cluster.behaviours)
	}
	r.mark("everything is checked")
	return err
}

// get reads from the nodes in turn.
func (r *run) get(ctx context.Context, path string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return client.GetJSON(ctx, r.cluster.next()+"/v1/games/demo/"+path, v)
}

func pause(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	}
}
