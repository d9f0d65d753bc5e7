package main

import (
	"context"
	"os"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/hostile/attacker"
	"laststand/loadtest/hostile/control"
)

// tight are small limits for a server that may lag, because tests share the machine.
const tight = "{guests_per_minute_per_address: 20, nickname_lookups_per_minute_per_address: 20, code_attempts_per_hour_per_address: 10, max_scheduler_lag_ms: 0}"

// TestHostileClients attacks a server with all kinds of hostile clients while control players
// play. It checks all frames against the contract. It logs delays, which fail nothing.
// loadtest/hostile is the long version.
func TestHostileClients(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartNode(context.Background(), testenv.NodeOptions{ // Stop ends it
		Binary: os.Args[0], Env: []string{actAs + "=server"},
		Redis: listedRedis(t), Settings: attacker.Settings(tight), Files: attack.Files(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Stop() })
	admin, err := server.AdminToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	report, err := attacker.Run(t.Context(), attacker.Config{
		Server: server, Admin: admin, Kinds: attack.Kinds(), Attack: attack.Run,
		Control: control.Config{URL: server.URL, Duelists: 6, Seats: 4, Readers: 2, Watchers: 2},
		Idle:    time.Second / 2, All: time.Second, SlowExtra: 13 * time.Second, Return: 30 * time.Second, MoreMB: 1 << 10,
		PerSecond: 440, Sockets: 24, Sources: attacker.Sources(3), Bounds: attack.Bounds{Guests: 20, Lookups: 20, Codes: 15},
		Log: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, server.Log())
	}
	t.Log(report)
	for _, untrue := range report.Violations {
		t.Error(untrue)
	}
	if report.Duels == 0 {
		t.Error("no duel was played")
	}
}
