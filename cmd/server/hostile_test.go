package main

import (
	"testing"
	"time"

	"laststand/loadtest/stress"
)

// tightLimits are small limits. max_scheduler_lag_ms is off, because tests share the machine.
const tightLimits = "{guests_per_minute_per_address: 20, nickname_lookups_per_minute_per_address: 20, code_attempts_per_hour_per_address: 10, max_scheduler_lag_ms: 0}"

// TestHostileClientsDoNotDisturbPlayers attacks a server with all kinds of hostile clients while honest players
// play. It checks all frames against the contract. It logs delays, which fail nothing.
// `loadtest stress hostile` is the long version.
func TestHostileClientsDoNotDisturbPlayers(t *testing.T) {
	t.Parallel()
	report, err := (&stress.Hostile{
		ClusterConfig: clusterOfTest(t, redisWithDocumentedKeys(t), ""), Kinds: stress.AttackKinds(),
		Quiet: time.Second / 2, All: time.Second, SlowTimeout: 13 * time.Second, PerSecond: 440, Sockets: 24,
		HostileScale: stress.HostileScale{
			NodeLimits: tightLimits, Limits: stress.Limits{Guests: 20, Lookups: 20, Codes: 15}, Addresses: 3, InProcess: true,
			Duellists: 6, Seats: 4, Readers: 2, Watchers: 2, RecoveryTimeout: 30 * time.Second, MoreMB: 1 << 10,
		},
	}).Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	for _, failure := range report.Failures {
		t.Error(failure)
	}
	if report.Summary.Matches["duel"] == 0 {
		t.Error("no duel was played")
	}
}
