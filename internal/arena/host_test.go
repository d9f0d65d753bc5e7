package arena

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// calls returns the requests of a host.
func (h *fixture) calls() map[string]func(host, arenaID string) error {
	ctx := h.Context()
	return map[string]func(host, arenaID string) error{
		"start": func(host, id string) error { return h.Start(ctx, "demo", host, id) },
		"lock":  func(host, id string) error { return h.Lock(ctx, "demo", host, id) },
		"close": func(host, id string) error { return h.Close(ctx, "demo", host, id) },
		"next": func(host, id string) error {
			return h.Next(ctx, "demo", host, protocol.ArenaNext{ArenaID: id, After: -1})
		},
		"kick": func(host, id string) error {
			return h.Kick(ctx, "demo", host, protocol.ArenaKick{ArenaID: id, Player: "ada"})
		},
	}
}

// Only the host may control an arena, and only an existing one.
func TestOnlyTheHost(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.mustJoin(joinRequest("ada", made.Code))
	for name, call := range h.calls() {
		h.checkRefused(call("ada", made.ArenaID), protocol.CodeForbidden)
		h.checkRefused(call("hana", "a_gone"), protocol.CodeNotFound)
		h.hall.fails["ReadArena"] = true
		if err := call("hana", made.ArenaID); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", name, err)
		}
		h.hall.fails["ReadArena"] = false
	}
	if m.phase != match.Lobby || m.locked || len(m.asked) != 0 || len(m.seats) != 1 || len(h.hall.rested) != 0 {
		t.Errorf("%+v, rested %v", m, h.hall.rested)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.checkRefused(h.Start(t.Context(), "demo", "hana", made.ArenaID), protocol.CodeBadRequest)
	h.mustJoin(joinRequest("eve", made.Code, withRole("spectator")))
	h.checkRefused(h.Start(t.Context(), "demo", "hana", made.ArenaID), protocol.CodeBadRequest)
	h.mustJoin(joinRequest("ada", made.Code))
	for range 2 {
		if err := h.Start(t.Context(), "demo", "hana", made.ArenaID); err != nil || m.phase != match.Countdown {
			t.Fatalf("%s, %v", m.phase, err)
		}
	}
	m.phase, m.seats = match.Over, nil
	if err := h.Start(t.Context(), "demo", "hana", made.ArenaID); err != nil || m.phase != match.Over {
		t.Errorf("%s, %v", m.phase, err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	if err := h.Lock(t.Context(), "demo", "hana", made.ArenaID); err != nil || !m.locked {
		t.Errorf("%v, %v", m.locked, err)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	for _, after := range []int{-2, 3, 100} {
		h.checkRefused(h.Next(t.Context(), "demo", "hana", protocol.ArenaNext{ArenaID: made.ArenaID, After: after}), protocol.CodeBadRequest)
	}
	for _, after := range []int{-1, 0, 2} {
		if err := h.Next(t.Context(), "demo", "hana", protocol.ArenaNext{ArenaID: made.ArenaID, After: after}); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(m.asked, []int{-1, 0, 2}) {
		t.Errorf("asked %v", m.asked)
	}
	auto, _ := h.createArena(func(b *protocol.NewArena) { b.Pace = "auto" })
	h.checkRefused(h.Next(t.Context(), "demo", "hana", protocol.ArenaNext{ArenaID: auto.ArenaID, After: -1}), protocol.CodeBadRequest)
}

// Every session in a match that is closed gets a notice; in the lobby the match
// sends it. A second close sends nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	for phase, notified := range map[match.Phase]bool{match.Lobby: false, match.Starting: false, match.Countdown: true, match.Revealed: true, match.Over: false} {
		h := newFixture(t)
		made, m := h.createArena()
		m.phase = phase
		for range 2 {
			if err := h.Close(t.Context(), "demo", "hana", made.ArenaID); err != nil || m.phase != match.Over {
				t.Fatalf("%s: %s, %v", phase, m.phase, err)
			}
		}
		var want []string
		if notified {
			want = []string{fmt.Sprintf(`%s/* {"type":"arena.closed","data":{"arena_id":%q,"reason":"closed"}}`, m.plan.ID, made.ArenaID)}
		}
		if !slices.Equal(h.hall.sent, want) || !slices.Contains(h.hall.rested, "demo/"+made.Code) {
			t.Errorf("%s: sent %q, want %q, rested %v", phase, h.hall.sent, want, h.hall.rested)
		}
	}
}

// A failed request can be repeated.
func TestCloseWhenTheStoreIsDown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	for _, method := range []string{"CloseArena", "RetireCode"} {
		h.hall.fails = map[string]bool{method: true}
		if err := h.Close(t.Context(), "demo", "hana", made.ArenaID); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
	}
	h.hall.fails = nil
	if err := h.Close(t.Context(), "demo", "hana", made.ArenaID); err != nil || m.phase != match.Over {
		t.Errorf("%s, %v", m.phase, err)
	}
}
