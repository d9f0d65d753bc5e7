package arena

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// hostRequests returns the requests of a host.
func (test *arenaTest) hostRequests() map[string]func(host, arenaID string) error {
	ctx := test.Context()
	return map[string]func(host, arenaID string) error{
		"start": func(host, id string) error { return test.Start(ctx, "demo", host, id) },
		"lock":  func(host, id string) error { return test.Lock(ctx, "demo", host, id) },
		"close": func(host, id string) error { return test.Close(ctx, "demo", host, id) },
		"next": func(host, id string) error {
			return test.Next(ctx, "demo", host, protocol.ArenaNext{ArenaID: id, After: -1})
		},
		"kick": func(host, id string) error {
			return test.Kick(ctx, "demo", host, protocol.ArenaKick{ArenaID: id, Player: "ada"})
		},
		"extend": func(host, id string) error {
			_, err := test.Extend(ctx, "demo", host, protocol.ArenaExtend{ArenaID: id, Player: "ada", Percent: 50})
			return err
		},
	}
}

// Only the host may control an arena, and only an existing one.
func TestOnlyTheHostControlsAnArena(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", created.Code))
	for name, call := range test.hostRequests() {
		test.checkRefused(call("ada", created.ArenaID), protocol.CodeForbidden)
		test.checkRefused(call("hana", "a_gone"), protocol.CodeNotFound)
		test.backend.failingMethods["ReadArena"] = true
		if err := call("hana", created.ArenaID); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", name, err)
		}
		test.backend.failingMethods["ReadArena"] = false
	}
	if storedArena.phase != match.PhaseLobby || storedArena.locked || len(storedArena.proceedCalls) != 0 || len(storedArena.seats) != 1 || len(storedArena.extra) != 0 || len(test.backend.retiredCodes) != 0 {
		t.Errorf("%+v, retired codes %v", storedArena, test.backend.retiredCodes)
	}
}

func TestStartNeedsAPlayerAndStartsTheCountdown(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.checkRefused(test.Start(t.Context(), "demo", "hana", created.ArenaID), protocol.CodeBadRequest)
	test.mustJoin(joinRequest("eve", created.Code, withRole("spectator")))
	test.checkRefused(test.Start(t.Context(), "demo", "hana", created.ArenaID), protocol.CodeBadRequest)
	test.mustJoin(joinRequest("ada", created.Code))
	for range 2 {
		if err := test.Start(t.Context(), "demo", "hana", created.ArenaID); err != nil || storedArena.phase != match.PhaseCountdown {
			t.Fatalf("%s, %v", storedArena.phase, err)
		}
	}
	storedArena.phase, storedArena.seats = match.PhaseOver, nil
	if err := test.Start(t.Context(), "demo", "hana", created.ArenaID); err != nil || storedArena.phase != match.PhaseOver {
		t.Errorf("%s, %v", storedArena.phase, err)
	}
}

func TestLockRefusesFurtherPlayers(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	if err := test.Lock(t.Context(), "demo", "hana", created.ArenaID); err != nil || !storedArena.locked {
		t.Errorf("%v, %v", storedArena.locked, err)
	}
}

func TestNextProceedsWithPaceHost(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	for _, after := range []int{-2, 3, 100} {
		test.checkRefused(test.Next(t.Context(), "demo", "hana", protocol.ArenaNext{ArenaID: created.ArenaID, After: after}), protocol.CodeBadRequest)
	}
	for _, after := range []int{-1, 0, 2} {
		if err := test.Next(t.Context(), "demo", "hana", protocol.ArenaNext{ArenaID: created.ArenaID, After: after}); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(storedArena.proceedCalls, []int{-1, 0, 2}) {
		t.Errorf("Proceed was called with %v", storedArena.proceedCalls)
	}
	selfPaced, _ := test.createArena(func(b *protocol.NewArena) { b.Pace = "auto" })
	test.checkRefused(test.Next(t.Context(), "demo", "hana", protocol.ArenaNext{ArenaID: selfPaced.ArenaID, After: -1}), protocol.CodeBadRequest)
}

// Every session in a match that is closed gets a notice; in the lobby the match
// sends it. A second close sends nothing.
func TestCloseNotifiesAllSessions(t *testing.T) {
	t.Parallel()
	for phase, isNotified := range map[match.Phase]bool{match.PhaseLobby: false, match.PhaseStarting: false, match.PhaseCountdown: true, match.PhaseRevealed: true, match.PhaseOver: false} {
		test := newArenaTest(t)
		created, storedArena := test.createArena()
		storedArena.phase = phase
		for range 2 {
			if err := test.Close(t.Context(), "demo", "hana", created.ArenaID); err != nil || storedArena.phase != match.PhaseOver {
				t.Fatalf("%s: %s, %v", phase, storedArena.phase, err)
			}
		}
		var want []string
		if isNotified {
			want = []string{fmt.Sprintf(`%s/* {"type":"arena.closed","data":{"arena_id":%q,"reason":"closed"}}`, storedArena.plan.ID, created.ArenaID)}
		}
		if !slices.Equal(test.backend.sentFrames, want) || !slices.Contains(test.backend.retiredCodes, "demo/"+created.Code) {
			t.Errorf("%s: sent %q, want %q, retired codes %v", phase, test.backend.sentFrames, want, test.backend.retiredCodes)
		}
	}
}

// A failed request can be repeated.
func TestFailedCloseCanBeRepeated(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	for _, method := range []string{"CloseArena", "RetireCode"} {
		test.backend.failingMethods = map[string]bool{method: true}
		if err := test.Close(t.Context(), "demo", "hana", created.ArenaID); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
	}
	test.backend.failingMethods = nil
	if err := test.Close(t.Context(), "demo", "hana", created.ArenaID); err != nil || storedArena.phase != match.PhaseOver {
		t.Errorf("%s, %v", storedArena.phase, err)
	}
}
