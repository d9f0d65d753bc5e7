package main

import (
	"cmp"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/stress"
)

// chaosSeedVariable is the environment variable with the seed of TestManyNodesLoseNothing. Set it
// to repeat a run.
const chaosSeedVariable = "LASTSTAND_TEST_CHAOS_SEED"

// TestManyNodesLoseNothing plays duels and arenas on three nodes with a Redis cluster and a
// PostgreSQL, while it kills, stalls and drains nodes. It checks all that the players saw and
// all that is stored in the end. It logs delays, which fail nothing.
func TestManyNodesLoseNothing(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(chaosSeedVariable), strconv.FormatUint(rand.Uint64N(1_000_000), 10)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", chaosSeedVariable, err)
	}
	report, err := (&stress.Chaos{
		ClusterConfig: clusterOfTest(t, testenv.StartCluster(t, 3, 0).URL, testenv.Postgres(t).URL),
		Nodes:         3,
		Players:       40, Arenas: 6,
		Kills: 4, Stalls: 3, Drains: 2,
		For:  30 * time.Second,
		Seed: seed,
	}).Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for _, mode := range []string{"duel", "buzzer", "survival"} {
		if report.Summary.Matches[mode] == 0 {
			t.Errorf("no %s was played", mode)
		}
	}
	if len(report.Failures) == 0 {
		return
	}
	logs, err := report.KeepLogs()
	t.Errorf("%d failures; the logs of the nodes are in %s (%v); the same faults again: %s=%d go test -run %s ./cmd/server",
		len(report.Failures), logs, err, chaosSeedVariable, seed, t.Name())
}

// clusterOfTest returns nodes that are this test binary.
func clusterOfTest(t *testing.T, redis, database string) stress.ClusterConfig {
	return stress.ClusterConfig{
		Server: os.Args[0], Redis: redis, Database: database, Log: t.Logf, Node: testenv.NodeOptions{Env: []string{actAsVariable + "=server"}},
	}
}
