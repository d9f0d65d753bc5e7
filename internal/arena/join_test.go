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

func TestJoinAddsSeatAndAttachesSession(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.mustJoin(joinRequest("eve", created.Code, inTeam("acme")))
	joined, notifyOthers, err := test.Join(t.Context(), joinRequest("ada", created.Code))
	test.must(err)
	if got, want := toJSON(joined), toJSON(protocol.ArenaJoined{
		ArenaID: created.ArenaID, Mode: "buzzer", Name: "Summer party", As: "player", Team: "b:2", Players: 2, State: "lobby",
		Teams: []protocol.TeamCount{{ID: "acme", Name: "Acme", Players: 1}, {ID: "b:2", Name: "Bravo", Players: 1}},
	}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := toJSON(storedArena.seats[1]), toJSON(match.Seat{Player: "ada", Nickname: "Nick ada", Team: "b:2"}); got != want {
		t.Errorf("seat %s, want %s", got, want)
	}
	test.checkActivity("ada", storedArena.plan.ID)
	if !slices.Contains(test.backend.attached, storedArena.plan.ID+"/ada") || len(test.backend.notifiedMatches) != 1 {
		t.Errorf("before the reply: attached %v, notified %v", test.backend.attached, test.backend.notifiedMatches)
	}
	notifyOthers()
	if !slices.Contains(test.backend.attached, storedArena.plan.ID+"/ada") || len(test.backend.notifiedMatches) != 2 {
		t.Errorf("after the reply: attached %v, notified %v", test.backend.attached, test.backend.notifiedMatches)
	}
	if n := testutil.ToFloat64(test.metrics.joins.WithLabelValues("player")); n != 2 {
		t.Errorf("%g counted", n)
	}
}

// A player with a seat keeps it, whatever the request and the phase.
func TestJoinKeepsAnExistingSeat(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", created.Code, inTeam("b:2")))
	for phase, want := range map[match.Phase]string{match.PhaseLobby: "", match.PhaseStarting: "", match.PhaseCountdown: storedArena.plan.ID, match.PhaseRevealed: storedArena.plan.ID, match.PhaseSettled: storedArena.plan.ID} {
		storedArena.phase, storedArena.locked = phase, true
		for _, request := range []JoinRequest{joinRequest("ada", created.Code), joinRequest("ada", created.Code, inTeam("acme")), joinRequest("ada", created.Code, withRole("player")), joinRequest("ada", created.Code, withRole("spectator"))} {
			joined := test.mustJoin(request)
			if joined.As != "player" || joined.Team != "b:2" || joined.Players != 1 || joined.Match != want {
				t.Errorf("%s, %+v: %+v", phase, request.ArenaJoin, joined)
			}
		}
	}
	test.checkActivity("ada", storedArena.plan.ID)
}

// Spectators and the host may join while the match is not over. Watching does
// not occupy them.
func TestSpectatorsAndTheHostJoinInEachPhase(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	storedArena.locked = true
	for phase, want := range map[match.Phase]string{match.PhaseLobby: "", match.PhaseOpen: storedArena.plan.ID} {
		storedArena.phase = phase
		for _, request := range []JoinRequest{
			joinRequest("ada", created.Code, withRole("spectator")), joinRequest("screen", created.Code, withRole("spectator"), asHostClient),
			joinRequest("hana", created.Code, withRole("host")), joinRequest("hana", created.Code, withRole("host"), asHostClient),
		} {
			joined := test.mustJoin(request)
			if joined.As != request.As || joined.Team != "" || joined.Players != 0 || joined.Match != want || storedArena.roles[request.Player] != match.Role(request.As) {
				t.Errorf("%s, %s: %+v", phase, request.Player, joined)
			}
			test.checkActivity(request.Player, "")
		}
	}
}

func TestJoinIsRefused(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		prepare func(test *arenaTest, storedArena *fakeArena)
		changes []func(*JoinRequest)
		want    protocol.Code
	}{
		"a wrong code":          {nil, []func(*JoinRequest){func(r *JoinRequest) { r.Code = "no code" }}, protocol.CodeNotFound},
		"match over":            {func(_ *arenaTest, storedArena *fakeArena) { storedArena.phase = match.PhaseOver }, nil, protocol.CodeNotFound},
		"match over, watching":  {func(_ *arenaTest, storedArena *fakeArena) { storedArena.phase = match.PhaseSettled }, []func(*JoinRequest){withRole("spectator")}, protocol.CodeNotFound},
		"an unknown role":       {nil, []func(*JoinRequest){withRole("admin")}, protocol.CodeBadRequest},
		"an unknown team":       {nil, []func(*JoinRequest){inTeam("x")}, protocol.CodeBadRequest},
		"host token as player":  {nil, []func(*JoinRequest){asHostClient}, protocol.CodeForbidden},
		"not the arena's host":  {nil, []func(*JoinRequest){withRole("host")}, protocol.CodeForbidden},
		"another host token":    {nil, []func(*JoinRequest){withRole("host"), asHostClient}, protocol.CodeForbidden},
		"full":                  {func(_ *arenaTest, storedArena *fakeArena) { storedArena.plan.Arena.MaxPlayers = 0 }, nil, protocol.CodeArenaFull},
		"match has started":     {func(_ *arenaTest, storedArena *fakeArena) { storedArena.phase = match.PhaseStarting }, nil, protocol.CodeArenaStarted},
		"locked":                {func(_ *arenaTest, storedArena *fakeArena) { storedArena.locked = true }, nil, protocol.CodeArenaLocked},
		"banned":                {func(_ *arenaTest, storedArena *fakeArena) { storedArena.banned["ada"] = true }, nil, protocol.CodeKicked},
		"banned, watching":      {func(_ *arenaTest, storedArena *fakeArena) { storedArena.banned["ada"] = true }, []func(*JoinRequest){withRole("spectator")}, protocol.CodeKicked},
		"left during the match": {func(_ *arenaTest, storedArena *fakeArena) { storedArena.markLeft("ada") }, nil, protocol.CodeArenaStarted},
		"has a duel ticket":     {func(test *arenaTest, _ *fakeArena) { test.backend.ticketByPlayer["demo/ada"] = "t_1" }, nil, protocol.CodeAlreadyQueued},
	} {
		t.Run(name, func(t *testing.T) {
			test := startTest(t)
			created, storedArena := test.createArena()
			if testCase.prepare != nil {
				testCase.prepare(test, storedArena)
			}
			joined, notifyOthers, err := test.Join(t.Context(), joinRequest("ada", created.Code, testCase.changes...))
			test.checkRefused(err, testCase.want)
			notifyOthers()
			test.checkActivity("ada", "")
			if toJSON(joined) != toJSON(protocol.ArenaJoined{}) || len(test.backend.attached)+len(test.backend.notifiedMatches)+len(storedArena.roles) != 0 {
				t.Errorf("%+v, attached %v, notified %v, roles %v", joined, test.backend.attached, test.backend.notifiedMatches, storedArena.roles)
			}
			if n := testutil.ToFloat64(test.metrics.joins.WithLabelValues(string(testCase.want))); n != 1 {
				t.Errorf("%g counted", n)
			}
		})
	}
}

// markLeft adds the seat of a player who left during the match.
func (f *fakeArena) markLeft(player string) {
	f.phase, f.seats, f.hasLeft[player] = match.PhaseOpen, append(f.seats, match.Seat{Player: player}), true
}

// A player with a seat in another match is refused a seat, and may watch.
func TestJoinIsRefusedDuringAnotherMatch(t *testing.T) {
	test := startTest(t)
	created, _ := test.createArena()
	test.backend.matchByPlayer["demo/ada"] = "m_other"
	test.backend.matches["m_other"] = &fakeArena{phase: match.PhaseOpen, seats: []match.Seat{{Player: "ada"}}}
	_, _, err := test.Join(t.Context(), joinRequest("ada", created.Code))
	test.checkRefused(err, protocol.CodeAlreadyPlaying)
	test.checkActivity("ada", "m_other")
	test.mustJoin(joinRequest("ada", created.Code, withRole("spectator"))) // watching occupies no player
}

// The node dies or the store fails after the player was recorded and before the
// seat exists. The stale record does not stop the player here or elsewhere.
func TestCrashBeforeSeatDoesNotBlockPlayer(t *testing.T) {
	test := startTest(t)
	first, firstStored := test.createArena()
	second, secondStored := test.createArena()
	test.backend.failingMethods["AddSeat"] = true
	if _, _, err := test.Join(t.Context(), joinRequest("ada", first.Code)); !errors.Is(err, errDown) {
		t.Fatalf("%v", err)
	}
	test.checkActivity("ada", firstStored.plan.ID)
	test.backend.failingMethods["AddSeat"] = false
	test.mustJoin(joinRequest("ada", second.Code))
	test.checkActivity("ada", secondStored.plan.ID)

	test.backend.matchByPlayer["demo/bob"] = firstStored.plan.ID
	test.mustJoin(joinRequest("bob", first.Code))
	test.checkActivity("bob", firstStored.plan.ID)
}

// A failure never looks like a refusal, and a repeated request continues.
func TestFailedJoinCanBeRepeated(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"FindCode", "ReadArena", "Seat", "Occupy", "AddSeat", "AttachFrom"} {
		test := newArenaTest(t)
		created, storedArena := test.createArena()
		test.backend.matchByPlayer["demo/ada"] = "m_gone"
		test.backend.failingMethods[method] = true
		_, notifyOthers, err := test.Join(t.Context(), joinRequest("ada", created.Code))
		if !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
		notifyOthers()
		if n := testutil.ToFloat64(test.metrics.joins.WithLabelValues("failed")); n != 1 || len(test.backend.attached) != 0 {
			t.Errorf("%s: %g counted, attached %v", method, n, test.backend.attached)
		}
		test.backend.failingMethods[method] = false
		test.mustJoin(joinRequest("ada", created.Code))
		test.checkActivity("ada", storedArena.plan.ID)
	}
}

// A refusal is returned even if freeing the player fails.
func TestRefusalIsReturnedWhenFreeFails(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	storedArena.locked, test.backend.failingMethods["Free"] = true, true
	_, _, err := test.Join(t.Context(), joinRequest("ada", created.Code))
	test.checkRefused(err, protocol.CodeArenaLocked)
	other, _ := test.createArena()
	test.mustJoin(joinRequest("ada", other.Code)) // the record was stale
}

// Forty players join at the same time, each with two requests. Each has one
// seat, and the teams have equal size.
func TestConcurrentJoinsAddOneSeatPerPlayer(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	var running sync.WaitGroup
	for i := range 80 {
		running.Go(func() {
			_, notifyOthers, err := test.Join(t.Context(), joinRequest(fmt.Sprint("p_", i/2), created.Code))
			if err != nil {
				t.Error(err)
			}
			notifyOthers()
		})
	}
	running.Wait()
	if len(storedArena.seats) != 40 || storedArena.countPlayers("acme") != 20 || len(test.backend.matchByPlayer) != 40 {
		t.Errorf("%d seats, %d of them in one of two teams, %d players occupied", len(storedArena.seats), storedArena.countPlayers("acme"), len(test.backend.matchByPlayer))
	}
}
