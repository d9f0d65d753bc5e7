package arena

import (
	"reflect"
	"testing"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// A host sees each arena with its present state. The match is named from its start on.
func TestAHostsArenasAreListedWithTheirStates(t *testing.T) {
	test := startTest(t)
	states := map[match.Phase]string{match.PhaseLobby: stateLobby, match.PhaseStarting: stateLobby, match.PhaseOpen: statePlaying, match.PhaseOver: stateOver}
	for phase, state := range states {
		test.backend.records = nil
		created, stored := test.createArena()
		test.mustJoin(joinRequest("guest-"+string(phase), created.Code))
		stored.phase = phase
		want := protocol.HostedArena{ArenaID: created.ArenaID, Name: "Summer party", Mode: "buzzer", State: state, Players: 1}
		if state != stateLobby {
			want.Match = stored.plan.ID
		}
		test.checkHosted(want)
	}
	created, stored := test.createArena()
	test.backend.records = test.backend.records[len(test.backend.records)-1:]
	delete(test.backend.matches, stored.plan.ID)
	want := protocol.HostedArena{ArenaID: created.ArenaID, Name: "Summer party", Mode: "buzzer", State: stateOver}
	test.checkHosted(want)
	test.backend.records[0].IsSettled, test.backend.records[0].Players, test.backend.records[0].CreatedAt = true, 7, 123
	want.Match, want.Players, want.CreatedAt = stored.plan.ID, 7, 123
	test.checkHosted(want)
	for _, key := range [][2]string{{"demo", "ada"}, {"closed", "hana"}} {
		if hosted, _, err := test.ListHosted(t.Context(), key[0], key[1], "", 10); len(hosted) != 0 || err != nil {
			t.Errorf("%v: %+v, %v", key, hosted, err)
		}
	}
}

// A page of many arenas that are not settled keeps its order. A failed read fails the page.
func TestManyHostedArenasAreReadTogether(t *testing.T) {
	test := startTest(t)
	for range 3 * concurrentReads {
		test.createArena()
	}
	hosted, _, err := test.ListHosted(t.Context(), "demo", "hana", "", 100)
	if err != nil || len(hosted) != len(test.backend.records) {
		t.Fatalf("%d arenas, %v", len(hosted), err)
	}
	for i, h := range hosted {
		if newest := test.backend.records[len(hosted)-1-i]; h.ArenaID != newest.ArenaID() || h.State != stateLobby {
			t.Errorf("place %d: %+v", i, h)
		}
	}
	test.backend.failingMethods["ReadArena"] = true
	if _, _, err := test.ListHosted(t.Context(), "demo", "hana", "", 100); err == nil {
		t.Error("no error although the store is down")
	}
}

func (test *arenaTest) checkHosted(want protocol.HostedArena) {
	test.Helper()
	hosted, next, err := test.ListHosted(test.Context(), "demo", "hana", "c", 10)
	if err != nil || next != "c>" || !reflect.DeepEqual(hosted, []protocol.HostedArena{want}) {
		test.Errorf("%+v, %q, %v; want %+v", hosted, next, err, want)
	}
}

// The record of an arena is found by its own id only, not by that of its match.
func TestRecordsAreFoundByTheIDOfTheArena(t *testing.T) {
	test := startTest(t)
	created, stored := test.createArena()
	want := Record{Game: "demo", Match: stored.plan.ID, Host: "hana", Name: "Summer party", Mode: match.Buzzer}
	if r, err := test.FindRecord(t.Context(), "demo", created.ArenaID); err != nil || r != want || r.ArenaID() != created.ArenaID {
		t.Errorf("%+v, %v", r, err)
	}
	for _, key := range [][2]string{{"demo", stored.plan.ID}, {"demo", created.ArenaID[2:]}, {"demo", "a_"}, {"closed", created.ArenaID}} {
		_, err := test.FindRecord(t.Context(), key[0], key[1])
		test.checkRefused(err, protocol.CodeNotFound)
	}
}

// A result can be on its way for as long as the match store has the match.
func TestAnArenaIsOverWhenItsMatchIsGone(t *testing.T) {
	test := startTest(t)
	_, stored := test.createArena()
	for _, phase := range []match.Phase{match.PhaseLobby, match.PhaseOpen, match.PhaseOver} {
		stored.phase = phase
		test.checkRefused(test.CheckOver(t.Context(), test.backend.records[0]), protocol.CodeNotOver)
	}
	for _, ended := range []match.State{{Question: -1}, {Question: 2, EndReason: match.ReasonAbandoned}} {
		stored.question, stored.endReason = ended.Question, ended.EndReason
		if err := test.CheckOver(t.Context(), test.backend.records[0]); err != nil {
			t.Errorf("an arena without a result: %v", err)
		}
	}
	delete(test.backend.matches, stored.plan.ID)
	if err := test.CheckOver(t.Context(), test.backend.records[0]); err != nil {
		t.Error(err)
	}
	test.backend.failingMethods["ReadArena"] = true
	if err := test.CheckOver(t.Context(), test.backend.records[0]); err == nil {
		t.Error("no error although the store is down")
	}
}
