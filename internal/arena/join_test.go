package arena

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

func TestJoinGivesASeatAndAttachesTheSession(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	test.mustJoin(joinRequest("eve", made.Code, inTeam("acme")))
	joined, then, err := test.Join(t.Context(), joinRequest("ada", made.Code))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := toJSON(joined), toJSON(protocol.ArenaJoined{
		ArenaID: made.ArenaID, Mode: "buzzer", Name: "Summer party", As: "player", Team: "b:2", Players: 2, State: "lobby",
		Teams: []protocol.TeamCount{{ID: "acme", Name: "Acme", Players: 1}, {ID: "b:2", Name: "Bravo", Players: 1}},
	}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := toJSON(storedArena.seats[1]), toJSON(match.Seat{Player: "ada", Nickname: "Nick ada", Team: "b:2"}); got != want {
		t.Errorf("seat %s, want %s", got, want)
	}
	test.checkBusy("ada", storedArena.plan.ID)
	if !slices.Contains(test.backend.attached, storedArena.plan.ID+"/ada") || len(test.backend.notifiedMatches) != 1 {
		t.Errorf("before the reply: attached %v, notified %v", test.backend.attached, test.backend.notifiedMatches)
	}
	then()
	if !slices.Contains(test.backend.attached, storedArena.plan.ID+"/ada") || len(test.backend.notifiedMatches) != 2 {
		t.Errorf("after the reply: attached %v, notified %v", test.backend.attached, test.backend.notifiedMatches)
	}
	if n := testutil.ToFloat64(test.metrics.joins.WithLabelValues("player")); n != 2 {
		t.Errorf("%g counted", n)
	}
}

// A player with a seat keeps it, whatever the request and the phase.
func TestJoinKeepsAnExistingSeat(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", made.Code, inTeam("b:2")))
	for phase, want := range map[match.Phase]string{match.PhaseLobby: "", match.PhaseStarting: "", match.PhaseCountdown: storedArena.plan.ID, match.PhaseRevealed: storedArena.plan.ID, match.PhaseSettled: storedArena.plan.ID} {
		storedArena.phase, storedArena.locked = phase, true
		for _, r := range []JoinRequest{joinRequest("ada", made.Code), joinRequest("ada", made.Code, inTeam("acme")), joinRequest("ada", made.Code, withRole("player")), joinRequest("ada", made.Code, withRole("spectator"))} {
			joined := test.mustJoin(r)
			if joined.As != "player" || joined.Team != "b:2" || joined.Players != 1 || joined.Match != want {
				t.Errorf("%s, %+v: %+v", phase, r.ArenaJoin, joined)
			}
		}
	}
	test.checkBusy("ada", storedArena.plan.ID)
}

// Spectators and the host may join while the match is not over. Watching does
// not occupy them.
func TestSpectatorsAndTheHostJoinInEachPhase(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	storedArena.locked = true
	for phase, want := range map[match.Phase]string{match.PhaseLobby: "", match.PhaseOpen: storedArena.plan.ID} {
		storedArena.phase = phase
		for _, r := range []JoinRequest{
			joinRequest("ada", made.Code, withRole("spectator")), joinRequest("screen", made.Code, withRole("spectator"), asHostClient),
			joinRequest("hana", made.Code, withRole("host")), joinRequest("hana", made.Code, withRole("host"), asHostClient),
		} {
			joined := test.mustJoin(r)
			if joined.As != r.As || joined.Team != "" || joined.Players != 0 || joined.Match != want || storedArena.roles[r.Player] != match.Role(r.As) {
				t.Errorf("%s, %s: %+v", phase, r.Player, joined)
			}
			test.checkBusy(r.Player, "")
		}
	}
}

func TestJoinIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(test *fixture, storedArena *fakeArena)
		tune   []func(*JoinRequest)
		want   protocol.Code
	}{
		"a wrong code":          {nil, []func(*JoinRequest){func(r *JoinRequest) { r.Code = "no code" }}, protocol.CodeNotFound},
		"match over":            {func(_ *fixture, storedArena *fakeArena) { storedArena.phase = match.PhaseOver }, nil, protocol.CodeNotFound},
		"match over, watching":  {func(_ *fixture, storedArena *fakeArena) { storedArena.phase = match.PhaseSettled }, []func(*JoinRequest){withRole("spectator")}, protocol.CodeNotFound},
		"an unknown role":       {nil, []func(*JoinRequest){withRole("admin")}, protocol.CodeBadRequest},
		"an unknown team":       {nil, []func(*JoinRequest){inTeam("x")}, protocol.CodeBadRequest},
		"host token as player":  {nil, []func(*JoinRequest){asHostClient}, protocol.CodeForbidden},
		"not the arena's host":  {nil, []func(*JoinRequest){withRole("host")}, protocol.CodeForbidden},
		"another host token":    {nil, []func(*JoinRequest){withRole("host"), asHostClient}, protocol.CodeForbidden},
		"full":                  {func(_ *fixture, storedArena *fakeArena) { storedArena.plan.Arena.MaxPlayers = 0 }, nil, protocol.CodeArenaFull},
		"match has started":     {func(_ *fixture, storedArena *fakeArena) { storedArena.phase = match.PhaseStarting }, nil, protocol.CodeArenaStarted},
		"locked":                {func(_ *fixture, storedArena *fakeArena) { storedArena.locked = true }, nil, protocol.CodeArenaLocked},
		"banned":                {func(_ *fixture, storedArena *fakeArena) { storedArena.banned["ada"] = true }, nil, protocol.CodeKicked},
		"banned, watching":      {func(_ *fixture, storedArena *fakeArena) { storedArena.banned["ada"] = true }, []func(*JoinRequest){withRole("spectator")}, protocol.CodeKicked},
		"left during the match": {func(_ *fixture, storedArena *fakeArena) { storedArena.markLeft("ada") }, nil, protocol.CodeArenaStarted},
		"has a duel ticket":     {func(test *fixture, _ *fakeArena) { test.backend.tickets["demo/ada"] = "t_1" }, nil, protocol.CodeAlreadyQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := newFixture(t)
			made, storedArena := test.createArena()
			if c.before != nil {
				c.before(test, storedArena)
			}
			joined, then, err := test.Join(t.Context(), joinRequest("ada", made.Code, c.tune...))
			test.checkRefused(err, c.want)
			then()
			test.checkBusy("ada", "")
			if toJSON(joined) != toJSON(protocol.ArenaJoined{}) || len(test.backend.attached)+len(test.backend.notifiedMatches)+len(storedArena.roles) != 0 {
				t.Errorf("%+v, attached %v, notified %v, roles %v", joined, test.backend.attached, test.backend.notifiedMatches, storedArena.roles)
			}
			if n := testutil.ToFloat64(test.metrics.joins.WithLabelValues(string(c.want))); n != 1 {
				t.Errorf("%g counted", n)
			}
		})
	}
}

// markLeft adds the seat of a player who left during the match.
func (f *fakeArena) markLeft(player string) {
	f.phase, f.seats, f.hasLeft[player] = match.PhaseOpen, append(f.seats, match.Seat{Player: player}), true
}

// A player is in one match at a time. A match that is over, gone or without a
// seat for the player does not count. A match that is being created does.
func TestJoinIsRefusedInAnotherMatch(t *testing.T) {
	t.Parallel()
	seats := []match.Seat{{Player: "ada"}}
	for name, c := range map[string]struct {
		other *fakeArena // nil: the match is gone
		form  bool
		want  protocol.Code
	}{
		"a duel":                  {&fakeArena{phase: match.PhaseOpen, seats: seats}, false, protocol.CodeAlreadyPlaying},
		"another arena's lobby":   {&fakeArena{phase: match.PhaseLobby, seats: seats}, false, protocol.CodeAlreadyPlaying},
		"a match that is over":    {&fakeArena{phase: match.PhaseOver, seats: seats}, false, ""},
		"a match that is settled": {&fakeArena{phase: match.PhaseSettled, seats: seats}, false, ""},
		"a match that is gone":    {nil, false, ""},
		"a match that is forming": {nil, true, protocol.CodeAlreadyPlaying},
		"an arena without a seat": {&fakeArena{phase: match.PhaseLobby}, false, ""},
		"a match without a seat":  {&fakeArena{phase: match.PhaseOpen, seats: []match.Seat{{Player: "eve"}}}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := newFixture(t)
			made, storedArena := test.createArena()
			test.backend.busy["demo/ada"], test.backend.forming["m_other"] = "m_other", c.form
			if c.other != nil {
				c.other.plan = &match.Plan{ID: "m_other", Game: "demo"}
				test.backend.matches["m_other"] = c.other
			}
			_, _, err := test.Join(t.Context(), joinRequest("ada", made.Code))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				test.checkBusy("ada", storedArena.plan.ID)
				return
			}
			if refused := test.checkRefused(err, c.want); refused.Match != "m_other" {
				t.Errorf("%+v", refused)
			}
			test.checkBusy("ada", "m_other")
			test.mustJoin(joinRequest("ada", made.Code, withRole("spectator"))) // watching occupies no player
		})
	}
}

// The node dies or the store fails after the player was recorded and before the
// seat exists. The stale record does not stop the player here or elsewhere.
func TestACrashBeforeTheSeatDoesNotBlockThePlayer(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	first, storedArena := test.createArena()
	second, other := test.createArena()
	test.backend.failingMethods["AddSeat"] = true
	if _, _, err := test.Join(t.Context(), joinRequest("ada", first.Code)); !errors.Is(err, errDown) {
		t.Fatalf("%v", err)
	}
	test.checkBusy("ada", storedArena.plan.ID)
	test.backend.failingMethods["AddSeat"] = false
	test.mustJoin(joinRequest("ada", second.Code))
	test.checkBusy("ada", other.plan.ID)

	test.backend.busy["demo/bob"] = storedArena.plan.ID
	test.mustJoin(joinRequest("bob", first.Code))
	test.checkBusy("bob", storedArena.plan.ID)
}

// A failure never looks like a refusal, and a repeated request continues.
func TestAFailedJoinCanBeRepeated(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"FindCode", "ReadArena", "Seat", "Occupy", "CheckSeat", "AddSeat", "AttachFrom"} {
		test := newFixture(t)
		made, storedArena := test.createArena()
		test.backend.busy["demo/ada"] = "m_gone"
		test.backend.failingMethods[method] = true
		_, then, err := test.Join(t.Context(), joinRequest("ada", made.Code))
		if !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
		then()
		if n := testutil.ToFloat64(test.metrics.joins.WithLabelValues("failed")); n != 1 || len(test.backend.attached) != 0 {
			t.Errorf("%s: %g counted, attached %v", method, n, test.backend.attached)
		}
		test.backend.failingMethods[method] = false
		test.mustJoin(joinRequest("ada", made.Code))
		test.checkBusy("ada", storedArena.plan.ID)
	}
}

// A refusal is returned even if freeing the player fails.
func TestARefusalIsReportedWhenFreeingFails(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	storedArena.locked, test.backend.failingMethods["Free"] = true, true
	_, _, err := test.Join(t.Context(), joinRequest("ada", made.Code))
	test.checkRefused(err, protocol.CodeArenaLocked)
	other, _ := test.createArena()
	test.mustJoin(joinRequest("ada", other.Code)) // the record was stale
}

// Forty players join at the same time, each with two requests. Each has one
// seat, and the teams have equal size.
func TestConcurrentJoinsGiveOneSeatPerPlayer(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	var all sync.WaitGroup
	for i := range 80 {
		all.Go(func() {
			_, then, err := test.Join(t.Context(), joinRequest(fmt.Sprint("p_", i/2), made.Code))
			if err != nil {
				t.Error(err)
			}
			then()
		})
	}
	all.Wait()
	if len(storedArena.seats) != 40 || storedArena.countPlayers("acme") != 20 || len(test.backend.busy) != 40 {
		t.Errorf("%d seats, %d of them in one of two teams, %d players occupied", len(storedArena.seats), storedArena.countPlayers("acme"), len(test.backend.busy))
	}
}
