package main

import (
	"path/filepath"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/testenv"
	"laststand/loadtest/stress"
)

// TestASmallSwarmPassesItsChecks runs a small swarm that plays every mode on a node, checks it and reports.
// `loadtest stress swarm` is the long version.
func TestASmallSwarmPassesItsChecks(t *testing.T) {
	t.Parallel()
	config := configFile(t, `
games:
  demo:
    duel: {questions: 3, time_limit_ms: 60000, countdown_ms: 50, reveal_ms: 20, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {time_limit_ms: 60000, countdown_ms: 50, reveal_ms: 20}
limits: {guests_per_minute_per_address: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, max_scheduler_lag_ms: 0}
`)
	data := filepath.Join(t.TempDir(), "data")
	node := startNode(t, cli.Flags{Data: &data, Config: config})
	c := &stress.Swarm{
		Idle: 4, Watchers: 2, Duellists: 6, Buzzer: 3, Survival: 3, Race: 3, Seats: 3, Readers: 1, Questions: 3,
		Think: 20 * time.Millisecond, Ramp: 500, For: time.Second, LateMatchWait: time.Second,
		ClusterConfig: stress.ClusterConfig{Log: t.Logf}, Attach: []string{node.url},
	}
	testenv.NoError(t, c.Check())
	report := runSwarm(t, c, node)
	for !playedEveryMode(report) && c.For < 30*time.Second { // on a slow machine, this time may be too short to pair players
		c.For *= 4
		report = runSwarm(t, c, node)
	}
	if !playedEveryMode(report) {
		t.Errorf("not every mode was played in %v", c.For)
	}
	if report.Summary.Compared == 0 || report.Summary.Pushes == 0 || report.Counts["answer accepted"] == 0 {
		t.Error("nothing was checked")
	}
}

// runSwarm returns the report of a run that must find no false data.
func runSwarm(t *testing.T, c *stress.Swarm, node *testNode) *stress.Report {
	t.Helper()
	report, err := c.Play(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, node.log)
	}
	t.Log(report)
	if len(report.Failures) > 0 {
		t.Fatal(report.Failures)
	}
	return report
}

func playedEveryMode(r *stress.Report) bool {
	return r.Counts["matches duel"] > 0 && r.Counts["matches buzzer"] > 0 && r.Counts["matches survival"] > 0 && r.Counts["matches race"] > 0
}
