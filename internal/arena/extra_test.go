package arena

import (
	"errors"
	"testing"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// extend requests extra time as the host.
func (test *arenaTest) extend(extend protocol.ArenaExtend) (string, error) {
	test.Helper()
	extended, err := test.Extend(test.Context(), "demo", "hana", extend)
	return toJSON(extended.Extra), err
}

// The host names players by id or nickname. Only the host sees them.
func TestOnlyTheHostSeesExtraTime(t *testing.T) {
	test := startTest(t)
	created, _ := test.createArena(asRace)
	for _, player := range []string{"ada", "bob", "cyd"} {
		test.mustJoin(joinRequest(player, created.Code))
	}
	const wantAda = `{"player":"ada","nickname":"Nick ada","percent":100}`
	const wantBob = `{"player":"bob","nickname":"Nick bob","percent":25}`
	if extra, err := test.extend(protocol.ArenaExtend{ArenaID: created.ArenaID, Player: "ada", Percent: 100}); err != nil || extra != "["+wantAda+"]" {
		t.Errorf("%s, %v", extra, err)
	}
	if extra, err := test.extend(protocol.ArenaExtend{ArenaID: created.ArenaID, Nickname: "Nick bob", Percent: 25}); err != nil || extra != "["+wantAda+","+wantBob+"]" {
		t.Errorf("%s, %v", extra, err)
	}
	for player, want := range map[string]int{"hana": 2, "ada": 0, "cyd": 0} {
		for _, role := range []string{"player", "spectator"} {
			if joined := test.mustJoin(joinRequest(player, created.Code, withRole(role))); len(joined.Extra) != want {
				t.Errorf("%s as %s: %+v", player, role, joined)
			}
		}
	}
	refused := test.checkRefused(second(test.extend(protocol.ArenaExtend{ArenaID: created.ArenaID, Player: "cyd", Percent: 50})), protocol.CodeBadRequest)
	if refused.Reason != protocol.ReasonTooManyExtra {
		t.Errorf("%+v", refused)
	}
}

func asRace(body *protocol.NewArena) { body.Mode = string(match.Race) }

func second(_ string, err error) error { return err }

// Extra time is refused for bad requests, strangers, running matches and buzzer arenas.
func TestExtraTimeIsRefused(t *testing.T) {
	test := startTest(t)
	buzzer, _ := test.createArena()
	test.checkRefused(second(test.extend(protocol.ArenaExtend{ArenaID: buzzer.ArenaID, Player: "ada", Percent: 50})), protocol.CodeBadRequest)
	created, stored := test.createArena(asRace)
	test.mustJoin(joinRequest("ada", created.Code))
	for _, extend := range []protocol.ArenaExtend{
		{Player: "ada", Percent: 10}, {Player: "ada", Percent: -25}, {Player: "ada", Percent: 200}, {Percent: 50}, {Player: "ada", Nickname: "Nick ada", Percent: 50}, {Player: "a\nb", Percent: 50},
	} {
		extend.ArenaID = created.ArenaID
		test.checkRefused(second(test.extend(extend)), protocol.CodeBadRequest)
	}
	for _, extend := range []protocol.ArenaExtend{{Player: "eve", Percent: 50}, {Nickname: "Nick ", Percent: 50}} {
		extend.ArenaID = created.ArenaID
		if refused := test.checkRefused(second(test.extend(extend)), protocol.CodeNotFound); refused.Reason != protocol.ReasonNotSeated {
			t.Errorf("%+v", refused)
		}
	}
	for _, method := range []string{"FindNamed", "SetExtra"} {
		test.backend.failingMethods[method] = true
		if _, err := test.extend(protocol.ArenaExtend{ArenaID: created.ArenaID, Nickname: "Nick ada", Percent: 50}); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
		test.backend.failingMethods[method] = false
	}
	stored.phase = match.PhaseCountdown
	test.checkRefused(second(test.extend(protocol.ArenaExtend{ArenaID: created.ArenaID, Player: "ada", Percent: 50})), protocol.CodeArenaStarted)
	if len(stored.extra) != 0 {
		t.Errorf("%+v", stored.extra)
	}
}
