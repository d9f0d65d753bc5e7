package swarm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// nodes are the nodes of a run, and the stores that they use.
type nodes struct {
	started  []*testenv.Node // by this program
	urls     []string        // of players
	ops      []string        // of operations
	redisPID int             // 0: this program has not started a redis-server
	database string          // description of the database, for the report
}

const (
	limit     = 15 * time.Second // for an answer
	countdown = time.Second
)

// settings returns the configuration of the nodes.
func (c Config) settings() string {
	times := fmt.Sprintf("time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d", limit.Milliseconds(), countdown.Milliseconds(), c.Reveal.Milliseconds())
	limits := ""
	if c.LagMS >= 0 {
		limits = fmt.Sprintf("max_scheduler_lag_ms: %d, ", c.LagMS)
	}
	if c.Nodes > 1 { // by default each would use a sixteenth of the machine's memory
		limits += "gc_headroom_mib: 64, "
	}
	return fmt.Sprintf(`games:
  demo:
    %s
    duel: {questions: %d, %s, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {%s}
    behaviours: {max_len: 1000000, rate: {per_second: 1000, burst: 1000}, report: [], sink: {type: file, max_file_mib: 16, max_files: 1}}
limits: {%scode_attempts_per_hour_per_address: 0, reads_per_second_per_address: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, guests_per_minute_per_address: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`, testenv.KeysYAML, c.Questions, times, times, limits)
}

// startNodes starts the nodes and their stores, or uses the nodes that already run. The
// first node starts alone, because it creates the tables.
func (s *swarm) startNodes(ctx context.Context) (err error) {
	s.nodes = nodes{urls: s.Attach, ops: s.Ops, database: "the stores of the nodes"}
	if len(s.Attach) > 0 {
		return nil
	}
	if s.Binary, err = testenv.BuildServer(ctx, s.Binary); err != nil {
		return err
	}
	if err := s.startStores(); err != nil {
		return err
	}
	s.nodes.started = make([]*testenv.Node, s.Nodes)
	start := func(i int) (err error) {
		s.nodes.started[i], err = testenv.StartNode(ctx, testenv.NodeOptions{
			Binary: s.Binary, Redis: s.Redis, Database: s.Database, Settings: s.settings(),
		})
		return err
	}
	if err := start(0); err != nil {
		return err
	}
	var others errgroup.Group
	for i := 1; i < s.Nodes; i++ {
		others.Go(func() error { return start(i) })
	}
	if err := others.Wait(); err != nil {
		return err
	}
	for _, n := range s.nodes.started {
		s.nodes.urls, s.nodes.ops = append(s.nodes.urls, n.URL), append(s.nodes.ops, n.Ops)
	}
	return nil
}

// startStores starts the stores that the configuration needs. Several nodes cannot share
// a file.
func (s *swarm) startStores() (err error) {
	switch s.Redis {
	case "":
		redis, err := testenv.StartRedis()
		if err != nil {
			return err
		}
		s.Redis, s.nodes.redisPID = redis.URL, redis.PID()
	case "cluster":
		if s.Redis, _, err = testenv.StartProgramCluster(3); err != nil {
			return err
		}
	}
	s.nodes.database = "SQLite"
	if s.Database != "" || s.Nodes > 1 {
		s.nodes.database = "PostgreSQL"
	}
	if s.Database == "postgres" || s.Database == "" && s.Nodes > 1 {
		postgres, err := testenv.StartPostgres()
		if err != nil {
			return err
		}
		s.Database = postgres.URL
	}
	return nil
}

// stop ends the nodes.
func (n nodes) stop() {
	var ending sync.WaitGroup
	for _, node := range n.started {
		ending.Go(func() { _, _ = node.Stop() }) // a node that does not stop is killed
	}
	ending.Wait()
}

// behaviours reads the counts of behaviours. Every node knows the counts of all nodes.
func (n nodes) behaviours(ctx context.Context) (b checker.Behaviours, err error) {
	m, err := testenv.ReadMetrics(ctx, n.ops[0])
	count := func(name string) int64 { return int64(m.Sum("laststand_behaviours_"+name, `game="demo"`)) }
	return checker.Behaviours{
		Offered: count("offered_total"), Sent: count("sent_total"), Dropped: count("dropped_total"), Queued: count("queued"), InFlight: count("in_flight"),
	}, err
}
