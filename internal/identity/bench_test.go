package identity_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/prometheus/client_golang/prometheus"
	_ "modernc.org/sqlite"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/testenv"
)

var benchNames = flag.Int("names", 1_000_000, "names in the ledger of BenchmarkStart and BenchmarkPoll")

// runningNode is the registry of a running node, with its metrics.
type runningNode struct {
	*identity.Registry
	metrics *prometheus.Registry
	stop    func()
}

// memorySnapshots stores snapshots in memory. It implements identity.Snapshots.
type memorySnapshots struct{ byGame sync.Map }

func (m *memorySnapshots) Load(game string) ([]byte, error) {
	snapshot, found := m.byGame.Load(game)
	if !found {
		return nil, fs.ErrNotExist
	}
	return snapshot.([]byte), nil
}

func (m *memorySnapshots) Save(game string, snapshot []byte) error {
	m.byGame.Store(game, snapshot)
	return nil
}

// start runs a node's registry with these snapshots until the test ends or stop is
// called.
func start(t testing.TB, sqlLedger *ledger.Ledger, snapshots identity.Snapshots) *runningNode {
	t.Helper()
	tokens, err := identity.OpenTokens(t.Context(), identity.TokensConfig{Games: []string{demo}, Keys: sqlLedger.TokenKeys, Now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	node := &runningNode{metrics: prometheus.NewRegistry()}
	node.Registry = identity.Open(identity.Config{
		Tokens: tokens, Players: sqlLedger.Players, Devices: sqlLedger.Players, Names: sqlLedger.Names, NameSource: sqlLedger.Names, Epoch: sqlLedger.Epoch(),
		Snapshots: snapshots, Logger: slog.New(slog.DiscardHandler), Registry: node.metrics,
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- node.Run(ctx) }() // waited for by stop
	node.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(node.stop)
	return node
}

// metricValue returns the sum of the samples of a name filter metric that have all these label
// values; -1 if there is no such sample.
func (n *runningNode) metricValue(t testing.TB, name string, labels ...string) float64 {
	t.Helper()
	families, err := n.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum, found := 0.0, false
	for _, family := range families {
		if family.GetName() != "laststand_name_filter_"+name {
			continue
		}
		for _, sample := range family.GetMetric() {
			matching := 0
			for _, label := range sample.GetLabel() {
				for _, want := range labels {
					if label.GetValue() == want {
						matching++
					}
				}
			}
			if matching == len(labels) {
				found = true
				sum += sample.GetGauge().GetValue() + sample.GetCounter().GetValue()
			}
		}
	}
	if !found {
		return -1
	}
	return sum
}

// waitUntil waits until a condition is true.
func waitUntil(t testing.TB, condition string, isTrue func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	for !isTrue() {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long until %s", condition)
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitView waits until the node has loaded its view of the names.
func (n *runningNode) awaitView(t testing.TB) {
	t.Helper()
	waitUntil(t, "the view is loaded", func() bool { return n.metricValue(t, "capacity") > 0 })
}

// BenchmarkClaims claims b.N free names, each with its own device, and fails if
// one is refused. Then it looks up 200,000 other free names. It compares the false
// positives of the filter with Bloom's formula.
func BenchmarkClaims(b *testing.B) {
	for name, db := range databases(b) {
		b.Run(name, func(b *testing.B) {
			node := start(b, openBenchLedger(b, db(b)), &memorySnapshots{})
			node.awaitView(b)
			var claimed, refused atomic.Int64
			b.SetParallelism(16)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := claimed.Add(1)
					request := identity.GuestRequest{Game: demo, Device: fmt.Sprintf("%s-%d", secret, i), Nickname: "N" + strconv.FormatInt(i*7919, 10)} // names of N and digits have different skeletons
					if _, err := node.Guest(b.Context(), request); err != nil {
						refused.Add(1)
						b.Log(err)
					}
				}
			})
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
			if refused.Load() > 0 {
				b.Errorf("%d free names refused", refused.Load())
			}
			node.checkFalsePositives(b)
		})
	}
}

// checkFalsePositives looks up free names. It compares the rate of false positives with
// Bloom's formula, and reports both.
func (n *runningNode) checkFalsePositives(b *testing.B) {
	const lookups = 200_000
	before := n.metricValue(b, "lookups_total", "false_positive")
	for i := range lookups {
		availability, err := n.Available(b.Context(), demo, "Free"+strconv.Itoa(i), identity.Requester{})
		if err != nil || !availability.Available {
			b.Fatalf("a free name is refused: %+v, %v", availability, err)
		}
	}
	const hashFunctions = 7
	names, bits := n.metricValue(b, "names"), n.metricValue(b, "size_bytes")*8
	expectedRate := math.Pow(1-math.Exp(-hashFunctions*names/bits), hashFunctions)
	measuredRate := (n.metricValue(b, "lookups_total", "false_positive") - before) / lookups
	if tolerance := 5*math.Sqrt(expectedRate/lookups) + 0.05*expectedRate; math.Abs(measuredRate-expectedRate) > tolerance {
		b.Errorf("%v of free names are false positives, want %v±%v", measuredRate, expectedRate, tolerance)
	}
	b.ReportMetric(measuredRate*100, "%false_positive")
	b.ReportMetric(expectedRate*100, "%theory")
	b.ReportMetric(n.metricValue(b, "size_bytes")/names, "B/name")
}

// BenchmarkChecks checks free names, as GET nicknames does: it parses each name
// and looks it up in the filter.
func BenchmarkChecks(b *testing.B) {
	node := start(b, openBenchLedger(b, testenv.SQL{Dir: b.TempDir()}), &memorySnapshots{})
	node.awaitView(b)
	var checked atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := node.Available(b.Context(), demo, "Free"+strconv.FormatInt(checked.Add(1), 36), identity.Requester{}); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "checks/s")
}

// BenchmarkStart starts on a ledger of -names names: without a snapshot, and with
// the snapshot of the last stop. Until the filter is loaded, every lookup is a
// query.
func BenchmarkStart(b *testing.B) {
	for name, db := range databases(b) {
		b.Run(name, func(b *testing.B) {
			database := db(b)
			sqlLedger := openBenchLedger(b, database)
			insertPlayers(b, database, *benchNames)
			snapshots := &memorySnapshots{}
			startupTime := func() time.Duration {
				startedAt := time.Now()
				node := start(b, sqlLedger, snapshots)
				node.awaitView(b)
				defer node.stop()
				return time.Since(startedAt)
			}
			var fromLedger, fromSnapshot time.Duration
			for range b.N {
				snapshots = &memorySnapshots{}
				fromLedger += startupTime()
				fromSnapshot += startupTime()
			}
			b.ReportMetric(fromLedger.Seconds()/float64(b.N), "s-ledger")
			b.ReportMetric(fromSnapshot.Seconds()/float64(b.N), "s-snapshot")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPoll reads the names that were claimed in the last second from a ledger
// of -names names. There are none. Each node does so two and a half times a
// second.
func BenchmarkPoll(b *testing.B) {
	for name, db := range databases(b) {
		b.Run(name, func(b *testing.B) {
			database := db(b)
			sqlLedger := openBenchLedger(b, database)
			insertPlayers(b, database, *benchNames)
			since := time.Now().Add(-time.Second).UnixMilli()
			for b.Loop() {
				if err := sqlLedger.Names.NamesBetween(b.Context(), since, math.MaxInt64, func(_, _ string, _ int64) { b.Error("NamesBetween returned a name") }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// databases returns functions that create a database, by the kind of the database.
func databases(b *testing.B) map[string]func(testing.TB) testenv.SQL {
	b.Helper()
	return map[string]func(testing.TB) testenv.SQL{
		"sqlite":   func(t testing.TB) testenv.SQL { return testenv.SQL{Dir: t.TempDir()} },
		"postgres": func(t testing.TB) testenv.SQL { return testenv.SQL{URL: testenv.Postgres(t).URL} }, // durable, unlike the shared one
	}
}

func openBenchLedger(b *testing.B, db testenv.SQL) *ledger.Ledger {
	b.Helper()
	sqlLedger, err := ledger.Open(b.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := sqlLedger.Close(); err != nil {
			b.Error(err)
		}
	})
	return sqlLedger
}

// insertPlayers adds players to the ledger whose names were claimed an hour ago.
func insertPlayers(b *testing.B, database testenv.SQL, names int) {
	b.Helper()
	driver, url, series := "pgx", database.URL, "generate_series(1, $1::BIGINT) AS s (i)"
	if database.URL == "" {
		driver, url = "sqlite", filepath.Join(database.Dir, "laststand.db")
		series = "(WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < $1) SELECT i FROM s)"
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	hourAgo := time.Now().Add(-time.Hour).UnixMilli()
	_, err = db.ExecContext(b.Context(), `
INSERT INTO players (game, id, device_hash, nickname, skeleton, named_at, joined_at)
SELECT 'demo', 'p_' || i, 'd' || i, 'Player' || i, 'player' || i, $2, $2 FROM `+series, names, hourAgo)
	if err == nil {
		_, err = db.ExecContext(b.Context(), "ANALYZE")
	}
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
}
