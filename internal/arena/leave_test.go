package arena

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

func TestLeaveTheLobby(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.mustJoin(joinRequest("ada", made.Code))
	if err := h.Leave(t.Context(), "demo", "ada", made.ArenaID); err != nil {
		t.Fatal(err)
	}
	h.checkBusy("ada", "")
	if len(m.seats) != 0 || len(h.hall.moved) != 2 || !slices.Equal(h.hall.sent, []string{m.plan.ID + "/ada "}) {
		t.Errorf("seats %v, moved %v, sent %q", m.seats, h.hall.moved, h.hall.sent)
	}
	h.mustJoin(joinRequest("ada", made.Code))
}

// A player who leaves a match forfeits: the seat stays, and the player may play
// elsewhere. A repeated request changes nothing.
func TestLeaveTheMatch(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.mustJoin(joinRequest("ada", made.Code))
	m.phase = match.Open
	h.hall.fails["Free"] = true
	if err := h.Leave(t.Context(), "demo", "ada", made.ArenaID); !errors.Is(err, errDown) {
		t.Fatalf("%v", err)
	}
	h.hall.fails["Free"] = false
	for range 2 {
		if err := h.Leave(t.Context(), "demo", "ada", made.ArenaID); err != nil {
			t.Fatal(err)
		}
		h.checkBusy("ada", "")
	}
	if len(m.seats) != 1 || !m.left["ada"] {
		t.Errorf("seats %v, left %v", m.seats, m.left)
	}
	other, _ := h.createArena()
	h.mustJoin(joinRequest("ada", other.Code))
}

func TestLeaveAfterWatching(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.hall.busy["demo/eve"] = "m_other" // eve plays elsewhere
	for person, role := range map[string]string{"eve": "spectator", "hana": "host"} {
		h.mustJoin(joinRequest(person, made.Code, withRole(role)))
		if err := h.Leave(t.Context(), "demo", person, made.ArenaID); err != nil {
			t.Errorf("%s: %v", person, err)
		}
		if !slices.Contains(h.hall.sent, m.plan.ID+"/"+person+" ") {
			t.Errorf("%s still gets pushes: %q", person, h.hall.sent)
		}
	}
	if len(m.roles) != 0 {
		t.Errorf("roles %v", m.roles)
	}
	h.checkBusy("eve", "m_other")
}

func TestLeaveRefusals(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, _ := h.createArena()
	for _, id := range []string{"", "a", "a_", "a_gone", "m_" + made.ArenaID[2:], made.ArenaID[2:], "x_" + made.ArenaID[2:]} {
		h.checkRefused(h.Leave(t.Context(), "demo", "ada", id), protocol.CodeNotFound)
	}
	h.checkRefused(h.Leave(t.Context(), "closed", "ada", made.ArenaID), protocol.CodeNotFound)
	h.checkRefused(h.Leave(t.Context(), "demo", "ada", made.ArenaID), protocol.CodeNotInMatch)
	h.hall.fails["RemovePlace"] = true
	if err := h.Leave(t.Context(), "demo", "ada", made.ArenaID); !errors.Is(err, errDown) {
		t.Error(err)
	}
}

func TestKick(t *testing.T) {
	t.Parallel()
	for ban, reason := range map[bool]string{false: "kicked", true: "banned"} {
		for _, phase := range []match.Phase{match.Lobby, match.Open} {
			h := newFixture(t)
			made, m := h.createArena()
			h.mustJoin(joinRequest("ada", made.Code))
			m.phase = phase
			for range 2 { // repeated
				if err := h.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: made.ArenaID, Player: "ada", Ban: ban}); err != nil {
					t.Fatal(err)
				}
			}
			h.checkBusy("ada", "")
			want := fmt.Sprintf(`%s/ada {"type":"arena.kicked","data":{"arena_id":%q,"reason":%q}}`, m.plan.ID, made.ArenaID, reason)
			if h.hall.sent[0] != want || len(h.hall.moved) != 3 {
				t.Errorf("%s: sent %q, want %q, moved %v", phase, h.hall.sent, want, h.hall.moved)
			}
			_, _, err := h.Join(t.Context(), joinRequest("ada", made.Code))
			switch {
			case ban:
				h.checkRefused(err, protocol.CodeKicked)
			case phase == match.Lobby && err != nil:
				t.Error(err)
			case phase == match.Open:
				h.checkRefused(err, protocol.CodeArenaStarted)
			}
		}
	}
}

// Only a person with a place can be banned, and the number of bans is limited.
func TestBansAreOfThoseInTheArena(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	m.plan.Arena.MaxPlayers = 2
	kick := func(player string, ban bool) error {
		return h.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: made.ArenaID, Player: player, Ban: ban})
	}
	h.checkRefused(kick("nobody", true), protocol.CodeNotFound)
	if err := kick("nobody", false); err != nil || len(m.banned) != 0 {
		t.Errorf("%v, banned %v", err, m.banned)
	}
	for i := range bansPerPlace * 2 {
		watcher := fmt.Sprint("watcher", i)
		h.mustJoin(joinRequest(watcher, made.Code, withRole("spectator")))
		if err := kick(watcher, true); err != nil {
			t.Error(err)
		}
	}
	h.mustJoin(joinRequest("ada", made.Code))
	h.checkRefused(kick("ada", true), protocol.CodeBadRequest)
	if err := kick("ada", false); err != nil || len(m.banned) != bansPerPlace*2 {
		t.Errorf("%v, %d are banned", err, len(m.banned))
	}
}

func TestKickRefusals(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.mustJoin(joinRequest("ada", made.Code))
	for host, k := range map[string]protocol.ArenaKick{
		"hana": {ArenaID: made.ArenaID, Player: "hana"}, "": {ArenaID: made.ArenaID, Player: "ada"},
	} {
		want := protocol.CodeForbidden
		if host == k.Player {
			want = protocol.CodeBadRequest
		}
		h.checkRefused(h.Kick(t.Context(), "demo", host, k), want)
	}
	h.checkRefused(h.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: made.ArenaID, Player: "a|b"}), protocol.CodeBadRequest)
	h.hall.fails["RemovePlace"] = true
	if err := h.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: made.ArenaID, Player: "ada"}); !errors.Is(err, errDown) {
		t.Error(err)
	}
	if len(m.seats) != 1 || len(h.hall.sent) != 0 {
		t.Errorf("seats %v, sent %q", m.seats, h.hall.sent)
	}
	h.checkBusy("ada", m.plan.ID)
}
