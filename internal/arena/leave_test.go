package arena

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

func TestLeavingTheLobbyDeletesTheSeat(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", created.Code))
	test.must(test.Leave(t.Context(), "demo", "ada", created.ArenaID))
	test.checkActivity("ada", "")
	if len(storedArena.seats) != 0 || len(test.backend.notifiedMatches) != 2 || !slices.Equal(test.backend.sentFrames, []string{storedArena.plan.ID + "/ada "}) {
		t.Errorf("seats %v, notified %v, sent %q", storedArena.seats, test.backend.notifiedMatches, test.backend.sentFrames)
	}
	test.mustJoin(joinRequest("ada", created.Code))
}

// A player who leaves a match forfeits: the seat stays, and the player may play
// elsewhere. A repeated request changes nothing.
func TestLeavingTheMatchForfeits(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", created.Code))
	storedArena.phase = match.PhaseOpen
	test.backend.failingMethods["Free"] = true
	if err := test.Leave(t.Context(), "demo", "ada", created.ArenaID); !errors.Is(err, errDown) {
		t.Fatalf("%v", err)
	}
	test.backend.failingMethods["Free"] = false
	for range 2 {
		test.must(test.Leave(t.Context(), "demo", "ada", created.ArenaID))
		test.checkActivity("ada", "")
	}
	if len(storedArena.seats) != 1 || !storedArena.hasLeft["ada"] {
		t.Errorf("seats %v, left %v", storedArena.seats, storedArena.hasLeft)
	}
	other, _ := test.createArena()
	test.mustJoin(joinRequest("ada", other.Code))
}

func TestSpectatorAndHostCanLeave(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.backend.matchByPlayer["demo/eve"] = "m_other" // eve plays elsewhere
	for person, role := range map[string]string{"eve": "spectator", "hana": "host"} {
		test.mustJoin(joinRequest(person, created.Code, withRole(role)))
		if err := test.Leave(t.Context(), "demo", person, created.ArenaID); err != nil {
			t.Errorf("%s: %v", person, err)
		}
		if !slices.Contains(test.backend.sentFrames, storedArena.plan.ID+"/"+person+" ") {
			t.Errorf("%s still gets pushes: %q", person, test.backend.sentFrames)
		}
	}
	if len(storedArena.roles) != 0 {
		t.Errorf("roles %v", storedArena.roles)
	}
	test.checkActivity("eve", "m_other")
}

func TestLeaveOfAnotherArenaIsRefused(t *testing.T) {
	test := startTest(t)
	created, _ := test.createArena()
	for _, id := range []string{"", "a", "a_", "a_gone", "m_" + created.ArenaID[2:], created.ArenaID[2:], "x_" + created.ArenaID[2:]} {
		test.checkRefused(test.Leave(t.Context(), "demo", "ada", id), protocol.CodeNotFound)
	}
	test.checkRefused(test.Leave(t.Context(), "closed", "ada", created.ArenaID), protocol.CodeNotFound)
	test.checkRefused(test.Leave(t.Context(), "demo", "ada", created.ArenaID), protocol.CodeNotInMatch)
	test.backend.failingMethods["RemovePlace"] = true
	if err := test.Leave(t.Context(), "demo", "ada", created.ArenaID); !errors.Is(err, errDown) {
		t.Error(err)
	}
}

func TestKickRemovesPlace(t *testing.T) {
	t.Parallel()
	for ban, reason := range map[bool]string{false: "kicked", true: "banned"} {
		for _, phase := range []match.Phase{match.PhaseLobby, match.PhaseOpen} {
			test := newArenaTest(t)
			created, storedArena := test.createArena()
			test.mustJoin(joinRequest("ada", created.Code))
			storedArena.phase = phase
			for range 2 { // repeated
				test.must(test.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: created.ArenaID, Player: "ada", Ban: ban}))
			}
			test.checkActivity("ada", "")
			want := fmt.Sprintf(`%s/ada {"type":"arena.kicked","data":{"arena_id":%q,"reason":%q}}`, storedArena.plan.ID, created.ArenaID, reason)
			if test.backend.sentFrames[0] != want || len(test.backend.notifiedMatches) != 3 {
				t.Errorf("%s: sent %q, want %q, notified %v", phase, test.backend.sentFrames, want, test.backend.notifiedMatches)
			}
			_, _, err := test.Join(t.Context(), joinRequest("ada", created.Code))
			switch {
			case ban:
				test.checkRefused(err, protocol.CodeKicked)
			case phase == match.PhaseLobby && err != nil:
				t.Error(err)
			case phase == match.PhaseOpen:
				test.checkRefused(err, protocol.CodeArenaStarted)
			}
		}
	}
}

// Only a person with a place can be banned, and the number of bans is limited.
func TestOnlyPeopleInTheArenaCanBeBanned(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	storedArena.plan.Arena.MaxPlayers = 2
	kick := func(player string, ban bool) error {
		return test.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: created.ArenaID, Player: player, Ban: ban})
	}
	test.checkRefused(kick("nobody", true), protocol.CodeNotFound)
	if err := kick("nobody", false); err != nil || len(storedArena.banned) != 0 {
		t.Errorf("%v, banned %v", err, storedArena.banned)
	}
	for i := range bansPerPlace * 2 {
		watcher := fmt.Sprint("watcher", i)
		test.mustJoin(joinRequest(watcher, created.Code, withRole("spectator")))
		if err := kick(watcher, true); err != nil {
			t.Error(err)
		}
	}
	test.mustJoin(joinRequest("ada", created.Code))
	test.checkRefused(kick("ada", true), protocol.CodeBadRequest)
	if err := kick("ada", false); err != nil || len(storedArena.banned) != bansPerPlace*2 {
		t.Errorf("%v, %d are banned", err, len(storedArena.banned))
	}
}

func TestKickRefusesHostsAndStrangers(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", created.Code))
	for host, kick := range map[string]protocol.ArenaKick{
		"hana": {ArenaID: created.ArenaID, Player: "hana"}, "": {ArenaID: created.ArenaID, Player: "ada"},
	} {
		want := protocol.CodeForbidden
		if host == kick.Player {
			want = protocol.CodeBadRequest
		}
		test.checkRefused(test.Kick(t.Context(), "demo", host, kick), want)
	}
	test.checkRefused(test.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: created.ArenaID, Player: "a|b"}), protocol.CodeBadRequest)
	test.backend.failingMethods["RemovePlace"] = true
	if err := test.Kick(t.Context(), "demo", "hana", protocol.ArenaKick{ArenaID: created.ArenaID, Player: "ada"}); !errors.Is(err, errDown) {
		t.Error(err)
	}
	if len(storedArena.seats) != 1 || len(test.backend.sentFrames) != 0 {
		t.Errorf("seats %v, sent %q", storedArena.seats, test.backend.sentFrames)
	}
	test.checkActivity("ada", storedArena.plan.ID)
}
