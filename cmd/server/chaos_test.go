package main

import (
	"cmp"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/chaos/checker"
)

// chaosSeedVar names the seed of TestManyNodesLoseNothing, to repeat a run.
const chaosSeedVar = "LASTSTAND_TEST_CHAOS_SEED"

// TestManyNodesLoseNothing plays duels and arenas over three nodes with a Redis cluster and a
// PostgreSQL, while it kills, stalls and drains nodes. It checks all that the players saw and
// all that is stored in the end. It logs delays, which fail nothing.
func TestManyNodesLoseNothing(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(chaosSeedVar), strconv.FormatUint(rand.Uint64N(1_000_000), 10)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", chaosSeedVar, err)
	}
	dir := chaosDir(t, seed)
	report, err := checker.Run(t.Context(), checker.Config{
		Server:   checker.Command{Path: os.Args[0], Env: []string{actAs + "=server"}},
		Redis:    testenv.ClusterOf(t, 3, 0).URL,
		Database: testenv.Postgres(t).URL,
		Dir:      dir,
		Nodes:    3, Players: 40, Arenas: 6,
		Kills: 4, Stalls: 3, Drains: 2,
		For:  30 * time.Second,
		Seed: seed,
		Log:  func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if report.Untrue > 0 {
		t.Errorf("%d untruths", report.Untrue)
	}
	for _, mode := range []string{"duel", "buzzer", "survival"} {
		if report.Matches[mode] == 0 {
			t.Errorf("no %s was played", mode)
		}
	}
}

// chaosDir returns a folder for the nodes' logs. If the test fails, the folder stays and the
// test logs the seed.
func chaosDir(t *testing.T, seed uint64) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chaos-") //nolint:usetesting // it is kept if the test fails
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the logs of the nodes are in %s; the same faults again: %s=%d go test -run %s ./cmd/server", dir, chaosSeedVar, seed, t.Name())
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}
