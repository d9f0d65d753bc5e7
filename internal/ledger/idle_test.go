package ledger

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// statementCounter counts the statements that a PostgreSQL of this test runs in one database.
type statementCounter struct {
	t     *testing.T
	admin *pgx.Conn // connected to another database
	name  string
}

// newStatementCounter returns an empty database whose statements are counted, including BEGIN and
// COMMIT.
func newStatementCounter(t *testing.T) (*statementCounter, testenv.SQL) {
	t.Helper()
	server := testenv.Postgres(t)
	once := func(text string) {
		conn := testenv.Need(pgx.Connect(t.Context(), server.URL))(t)
		defer conn.Close(t.Context())
		testenv.Need(conn.Exec(t.Context(), text))(t)
	}
	once("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
	server.Restart()
	once("CREATE EXTENSION pg_stat_statements")
	once("CREATE DATABASE idle")
	s := &statementCounter{t: t, admin: testenv.Need(pgx.Connect(t.Context(), server.URL))(t), name: "idle"}
	t.Cleanup(func() { _ = s.admin.Close(context.Background()) })
	return s, testenv.SQL{URL: fmt.Sprintf("postgres://postgres@%s/idle?sslmode=disable", server.Addr)}
}

func (s *statementCounter) count() (n int) {
	s.t.Helper()
	err := s.admin.QueryRow(s.t.Context(), `
SELECT COALESCE(SUM(calls), 0) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1`, s.name).Scan(&n)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// While a queue is idle, each node looks once a second for due tasks, and counts the tasks every
// 10 s. A task that one node enqueues wakes the workers of other nodes long before their next
// poll.
func TestAnIdleQueueRunsFewStatements(t *testing.T) {
	t.Parallel()
	s, db := newStatementCounter(t)
	kinds := []string{"one", "two", "three"}
	nodes := []*idleNode{openIdleNode(t, db, kinds), openIdleNode(t, db, nil)}
	nodes[1].relay.Publish = func(_ context.Context, kinds []string) error {
		nodes[0].relay.Receive(kinds)
		return nil
	}
	before := s.count()
	for _, n := range nodes {
		n.start()
	}
	const (
		seconds   = 8
		ofCleanup = 8     // begin, what is forgotten, commit, four states, backlogs
		ofPool    = 5     // begin, free lines, locked lines, any lines, commit
		ofOpen    = 4 * 3 // connections that are opened for that, and what is set for each
	)
	time.Sleep(seconds * time.Second)
	most := len(nodes)*(seconds+2+ofCleanup+ofOpen) + len(kinds)*ofPool
	if n := s.count() - before; n > most || n < len(nodes)*ofCleanup {
		t.Errorf("%d statements, want up to %d", n, most)
	}
	in, err := nodes[1].Tasks.Enqueue(t.Context(), []taskqueue.NewTask{{Topic: "two/a", Key: "k", Payload: []byte("1")}})
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool {
		return testenv.Need(nodes[1].Tasks.Task(t.Context(), in[0].ID))(t).State == taskqueue.StateDone
	})
}

// idleNode is a node with all components of the task queue.
type idleNode struct {
	*Ledger

	t     *testing.T
	relay *taskqueue.Notifier
	run   []func(context.Context) error
}

func openIdleNode(t *testing.T, db testenv.SQL, kinds []string) *idleNode {
	t.Helper()
	n := &idleNode{t: t}
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	n.relay = taskqueue.NewNotifier(registry)
	n.Ledger = openConfig(t, Config{URL: db.URL, Dir: db.Dir, NotifyTopic: n.relay.Notify})
	var services []taskqueue.KindConfig
	for _, kind := range kinds {
		services = append(services, taskqueue.KindConfig{Kind: kind, Handle: func(context.Context, taskqueue.Task) error { return nil }})
	}
	workers := taskqueue.NewWorkers(taskqueue.Config{Store: n.Claims, Notifier: n.relay, Kinds: services, PollInterval: time.Hour, Logger: log, Registry: registry})
	maintainer := taskqueue.NewMaintainer(taskqueue.MaintainerConfig{Store: n.Maintenance, Logger: log, Registry: registry})
	n.run = []func(context.Context) error{maintainer.Run, workers.Run, n.relay.Run}
	return n
}

func (n *idleNode) start() {
	ctx, cancel := context.WithCancel(n.t.Context())
	var running sync.WaitGroup
	for _, run := range n.run {
		running.Go(func() { _ = run(ctx) })
	}
	n.t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}
