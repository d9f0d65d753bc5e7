package main

import (
	"os"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/stress"
)

// tightLimits are small limits. max_scheduler_lag_ms is off, because tests share the machine.
const tightLimits = "{guests_per_minute_per_address: 20, nickname_lookups_per_minute_per_address: 20, code_attempts_per_hour_per_address: 10, max_scheduler_lag_ms: 0}"

// TestHostileClientsDoNotDisturbPlayers attacks a server with all kinds of hostile clients while honest players
// play. It checks all frames against the contract. It logs delays, which fail nothing.
// `loadtest stress hostile` is the long version.
func TestHostileClientsDoNotDisturbPlayers(t *testing.T) {
	t.Parallel()
	report, err := stress.Hostile(t.Context(), stress.HostileConfig{
		ClusterConfig: stress.ClusterConfig{Log: t.Logf, NodeOptions: testenv.NodeOptions{
			Binary: os.Args[0], Env: []string{actAsVariable + "=server"}, Redis: redisWithDocumentedKeys(t),
		}},
		NodeLimits: tightLimits, Kinds: stress.AttackKinds(), InProcess: true,
		Duellists: 6, Seats: 4, Readers: 2, Watchers: 2,
		Quiet: time.Second / 2, All: time.Second, SlowTimeout: 13 * time.Second, RecoveryTimeout: 30 * time.Second, MoreMB: 1 << 10,
		PerSecond: 440, Sockets: 24, Addresses: 3, Limits: stress.Limits{Guests: 20, Lookups: 20, Codes: 15},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for _, violation := range report.Violations {
		t.Error(violation)
	}
	if report.Summary.Matches["duel"] == 0 {
		t.Error("no duel was played")
	}
}
