package main

import (
	"context"
	"os"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/hostile"
	"laststand/loadtest/hostile/attack"
)

// tightLimits are small limits. max_scheduler_lag_ms is off, because tests share the machine.
const tightLimits = "{guests_per_minute_per_address: 20, nickname_lookups_per_minute_per_address: 20, code_attempts_per_hour_per_address: 10, max_scheduler_lag_ms: 0}"

// TestHostileClientsDoNotDisturbPlayers attacks a server with all kinds of hostile clients while honest players
// play. It checks all frames against the contract. It logs delays, which fail nothing.
// loadtest/hostile is the long version.
func TestHostileClientsDoNotDisturbPlayers(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartNode(context.Background(), testenv.NodeOptions{ // Stop ends it
		Binary: os.Args[0], Env: []string{actAsVariable + "=server"},
		Redis: redisWithDocumentedKeys(t), Settings: attack.Settings(tightLimits), Files: attack.Files(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Stop() })
	report, err := hostile.Run(t.Context(), hostile.Config{
		Server: server, Kinds: attack.Kinds(), Attack: attack.Run,
		Duellists: 6, Seats: 4, Readers: 2, Watchers: 2,
		Quiet: time.Second / 2, All: time.Second, SlowTimeout: 13 * time.Second, RecoveryTimeout: 30 * time.Second, MoreMB: 1 << 10,
		PerSecond: 440, Sockets: 24, Addresses: 3, Limits: attack.Limits{Guests: 20, Lookups: 20, Codes: 15},
		Log: t.Logf,
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, server.Log())
	}
	t.Log(report)
	for _, violation := range report.Violations {
		t.Error(violation)
	}
	if report.Duels == 0 {
		t.Error("no duel was played")
	}
}
