package main

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"laststand/internal/trial"
	"laststand/loadtest/chaos/ordeal"
)

// TestManyNodesLoseNothing has players play duels and arenas over three nodes
// on a Redis cluster and a PostgreSQL while nodes are killed, stalled and
// drained, and checks all that they saw and all that is kept in the end. How
// late anything was is logged and fails nothing.
func TestManyNodesLoseNothing(t *testing.T) {
	t.Parallel()
	report, err := ordeal.Run(t.Context(), ordeal.Config{
		Server:   ordeal.Command{Path: os.Args[0], Env: []string{actAs + "=server"}},
		Redis:    trial.ClusterOf(t, 3, 0).URL,
		Database: trial.Postgres(t).URL,
		Dir:      t.TempDir(),
		Nodes:    3, Players: 40, Arenas: 4,
		Kills: 2, Stalls: 2, Drains: 1,
		For:  12 * time.Second,
		Seed: rand.Uint64N(1_000_000),
		Say:  func(line string) { t.Log(line) },
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
