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

func TestJoin(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.mustJoin(joinRequest("eve", made.Code, inTeam("acme")))
	joined, then, err := h.Join(t.Context(), joinRequest("ada", made.Code))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encoded(joined), encoded(protocol.ArenaJoined{
		ArenaID: made.ArenaID, Mode: "buzzer", Name: "Summer party", As: "player", Team: "b:2", Players: 2, State: "lobby",
		Teams: []protocol.TeamCount{{ID: "acme", Name: "Acme", Players: 1}, {ID: "b:2", Name: "Bravo", Players: 1}},
	}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := encoded(m.seats[1]), encoded(match.Seat{Player: "ada", Nickname: "Nick ada", Team: "b:2"}); got != want {
		t.Errorf("seat %s, want %s", got, want)
	}
	h.checkBusy("ada", m.plan.ID)
	if !slices.Contains(h.hall.entered, m.plan.ID+"/ada") || len(h.hall.moved) != 1 {
		t.Errorf("before the reply: entered %v, moved %v", h.hall.entered, h.hall.moved)
	}
	then()
	if !slices.Contains(h.hall.entered, m.plan.ID+"/ada") || len(h.hall.moved) != 2 {
		t.Errorf("after the reply: entered %v, moved %v", h.hall.entered, h.hall.moved)
	}
	if n := testutil.ToFloat64(h.metrics.joins.WithLabelValues("player")); n != 2 {
		t.Errorf("%g counted", n)
	}
}

// A player with a seat keeps it, whatever the request and the phase.
func TestJoinAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.mustJoin(joinRequest("ada", made.Code, inTeam("b:2")))
	for phase, want := range map[match.Phase]string{match.Lobby: "", match.Starting: "", match.Countdown: m.plan.ID, match.Revealed: m.plan.ID, match.Settled: m.plan.ID} {
		m.phase, m.locked = phase, true
		for _, r := range []JoinRequest{joinRequest("ada", made.Code), joinRequest("ada", made.Code, inTeam("acme")), joinRequest("ada", made.Code, withRole("player")), joinRequest("ada", made.Code, withRole("spectator"))} {
			joined := h.mustJoin(r)
			if joined.As != "player" || joined.Team != "b:2" || joined.Players != 1 || joined.Match != want {
				t.Errorf("%s, %+v: %+v", phase, r.ArenaJoin, joined)
			}
		}
	}
	h.checkBusy("ada", m.plan.ID)
}

// Spectators and the host may join while the match is not over. Watching does
// not occupy them.
func TestJoinToWatch(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	m.locked = true
	for phase, want := range map[match.Phase]string{match.Lobby: "", match.Open: m.plan.ID} {
		m.phase = phase
		for _, r := range []JoinRequest{
			joinRequest("ada", made.Code, withRole("spectator")), joinRequest("screen", made.Code, withRole("spectator"), asHostClient),
			joinRequest("hana", made.Code, withRole("host")), joinRequest("hana", made.Code, withRole("host"), asHostClient),
		} {
			joined := h.mustJoin(r)
			if joined.As != r.As || joined.Team != "" || joined.Players != 0 || joined.Match != want || m.roles[r.Player] != match.Role(r.As) {
				t.Errorf("%s, %s: %+v", phase, r.Player, joined)
			}
			h.checkBusy(r.Player, "")
		}
	}
}

func TestJoinRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(h *fixture, m *fakeArena)
		tune   []func(*JoinRequest)
		want   protocol.Code
	}{
		"a wrong code":        {nil, []func(*JoinRequest){func(r *JoinRequest) { r.Code = "no code" }}, protocol.CodeNotFound},
		"it is over":          {func(_ *fixture, m *fakeArena) { m.phase = match.Over }, nil, protocol.CodeNotFound},
		"over, to watch":      {func(_ *fixture, m *fakeArena) { m.phase = match.Settled }, []func(*JoinRequest){withRole("spectator")}, protocol.CodeNotFound},
		"an unknown role":     {nil, []func(*JoinRequest){withRole("admin")}, protocol.CodeBadRequest},
		"an unknown team":     {nil, []func(*JoinRequest){inTeam("x")}, protocol.CodeBadRequest},
		"a client as player":  {nil, []func(*JoinRequest){asHostClient}, protocol.CodeForbidden},
		"as another's host":   {nil, []func(*JoinRequest){withRole("host")}, protocol.CodeForbidden},
		"another client":      {nil, []func(*JoinRequest){withRole("host"), asHostClient}, protocol.CodeForbidden},
		"full":                {func(_ *fixture, m *fakeArena) { m.plan.Arena.MaxPlayers = 0 }, nil, protocol.CodeArenaFull},
		"begun":               {func(_ *fixture, m *fakeArena) { m.phase = match.Starting }, nil, protocol.CodeArenaStarted},
		"locked":              {func(_ *fixture, m *fakeArena) { m.locked = true }, nil, protocol.CodeArenaLocked},
		"banned":              {func(_ *fixture, m *fakeArena) { m.banned["ada"] = true }, nil, protocol.CodeKicked},
		"banned, to watch":    {func(_ *fixture, m *fakeArena) { m.banned["ada"] = true }, []func(*JoinRequest){withRole("spectator")}, protocol.CodeKicked},
		"left while it ran":   {func(_ *fixture, m *fakeArena) { m.leftBy("ada") }, nil, protocol.CodeArenaStarted},
		"waiting for another": {func(h *fixture, _ *fakeArena) { h.hall.tickets["demo/ada"] = "t_1" }, nil, protocol.CodeAlreadyQueued},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			made, m := h.createArena()
			if c.before != nil {
				c.before(h, m)
			}
			joined, then, err := h.Join(t.Context(), joinRequest("ada", made.Code, c.tune...))
			h.checkRefused(err, c.want)
			then()
			h.checkBusy("ada", "")
			if encoded(joined) != encoded(protocol.ArenaJoined{}) || len(h.hall.entered)+len(h.hall.moved)+len(m.roles) != 0 {
				t.Errorf("%+v, entered %v, moved %v, roles %v", joined, h.hall.entered, h.hall.moved, m.roles)
			}
			if n := testutil.ToFloat64(h.metrics.joins.WithLabelValues(string(c.want))); n != 1 {
				t.Errorf("%g counted", n)
			}
		})
	}
}

// leftBy adds the seat of a player who left during the match.
func (h *fakeArena) leftBy(player string) {
	h.phase, h.seats, h.left[player] = match.Open, append(h.seats, match.Seat{Player: player}), true
}

// A player is in one match at a time. A match that is over, gone or without a
// seat for the player does not count. A match that is being created does.
func TestJoinWhenBusy(t *testing.T) {
	t.Parallel()
	seats := []match.Seat{{Player: "ada"}}
	for name, c := range map[string]struct {
		other *fakeArena // nil: the match is gone
		form  bool
		want  protocol.Code
	}{
		"a duel":                  {&fakeArena{phase: match.Open, seats: seats}, false, protocol.CodeAlreadyPlaying},
		"another arena's lobby":   {&fakeArena{phase: match.Lobby, seats: seats}, false, protocol.CodeAlreadyPlaying},
		"a match that is over":    {&fakeArena{phase: match.Over, seats: seats}, false, ""},
		"a match that is settled": {&fakeArena{phase: match.Settled, seats: seats}, false, ""},
		"a match that is gone":    {nil, false, ""},
		"a match that is forming": {nil, true, protocol.CodeAlreadyPlaying},
		"an arena without a seat": {&fakeArena{phase: match.Lobby}, false, ""},
		"a match without a seat":  {&fakeArena{phase: match.Open, seats: []match.Seat{{Player: "eve"}}}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			made, m := h.createArena()
			h.hall.busy["demo/ada"], h.hall.forming["m_other"] = "m_other", c.form
			if c.other != nil {
				c.other.plan = &match.Plan{ID: "m_other", Game: "demo"}
				h.hall.matches["m_other"] = c.other
			}
			_, _, err := h.Join(t.Context(), joinRequest("ada", made.Code))
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				h.checkBusy("ada", m.plan.ID)
				return
			}
			if refused := h.checkRefused(err, c.want); refused.Match != "m_other" {
				t.Errorf("%+v", refused)
			}
			h.checkBusy("ada", "m_other")
			h.mustJoin(joinRequest("ada", made.Code, withRole("spectator"))) // watching occupies no player
		})
	}
}

// The node dies or the store fails after the player was recorded and before the
// seat exists. The stale record does not stop the player here or elsewhere.
func TestACrashBetweenOccupyingAndTheSeat(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	first, m := h.createArena()
	second, other := h.createArena()
	h.hall.fails["AddSeat"] = true
	if _, _, err := h.Join(t.Context(), joinRequest("ada", first.Code)); !errors.Is(err, errDown) {
		t.Fatalf("%v", err)
	}
	h.checkBusy("ada", m.plan.ID)
	h.hall.fails["AddSeat"] = false
	h.mustJoin(joinRequest("ada", second.Code))
	h.checkBusy("ada", other.plan.ID)

	h.hall.busy["demo/bob"] = m.plan.ID
	h.mustJoin(joinRequest("bob", first.Code))
	h.checkBusy("bob", m.plan.ID)
}

// A failure never looks like a refusal, and a repeated request continues.
func TestJoinWhenTheStoreIsDown(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"FindCode", "ReadArena", "Seat", "Occupy", "CheckSeat", "AddSeat", "AttachFrom"} {
		h := newFixture(t)
		made, m := h.createArena()
		h.hall.busy["demo/ada"] = "m_gone"
		h.hall.fails[method] = true
		_, then, err := h.Join(t.Context(), joinRequest("ada", made.Code))
		if !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
		then()
		if n := testutil.ToFloat64(h.metrics.joins.WithLabelValues("failed")); n != 1 || len(h.hall.entered) != 0 {
			t.Errorf("%s: %g counted, entered %v", method, n, h.hall.entered)
		}
		h.hall.fails[method] = false
		h.mustJoin(joinRequest("ada", made.Code))
		h.checkBusy("ada", m.plan.ID)
	}
}

// A refusal is returned even if freeing the player fails.
func TestARefusalIsReportedWhenFreeingFails(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	m.locked, h.hall.fails["Free"] = true, true
	_, _, err := h.Join(t.Context(), joinRequest("ada", made.Code))
	h.checkRefused(err, protocol.CodeArenaLocked)
	other, _ := h.createArena()
	h.mustJoin(joinRequest("ada", other.Code)) // the record was stale
}

// Forty players join at the same time, each with two requests. Each has one
// seat, and the teams have equal size.
func TestEverybodyHasOneSeat(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	var all sync.WaitGroup
	for i := range 80 {
		all.Go(func() {
			_, then, err := h.Join(t.Context(), joinRequest(fmt.Sprint("p_", i/2), made.Code))
			if err != nil {
				t.Error(err)
			}
			then()
		})
	}
	all.Wait()
	if len(m.seats) != 40 || m.players("acme") != 20 || len(h.hall.busy) != 40 {
		t.Errorf("%d seats, %d in a team of two, %d busy", len(m.seats), m.players("acme"), len(h.hall.busy))
	}
}
