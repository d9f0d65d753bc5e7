package arena

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

var _ Matches = (*match.Engine)(nil)

// fixture is a test with a Service that uses a fakeBackend.
type fixture struct {
	*testing.T
	*Service
	hall *fakeBackend
}

func newFixture(t *testing.T) *fixture {
	h := newFakeBackend()
	return &fixture{T: t, hall: h, Service: New(Config{
		Games: map[string]Game{
			"demo":   {PlayersMayHost: true, LimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500, MaxPlayers: 500, TeamLockoutMS: 700},
			"closed": {LimitMS: 15_000, MaxPlayers: 500},
		},
		Seats: h, Codes: h, Activities: h, Matches: h, Bank: fakeBank{}, Players: h,
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})}
}

// body returns a valid request body, changed by tune.
func body(tune ...func(*protocol.NewArena)) protocol.NewArena {
	b := protocol.NewArena{
		Mode: "buzzer", Name: "  Summer party ", Pace: "host", Questions: protocol.ArenaQuestions{Count: 3},
		Teams: []protocol.ArenaTeam{{ID: "acme", Name: " Acme "}, {ID: "b:2", Name: "Bravo"}},
	}
	for _, f := range tune {
		f(&b)
	}
	return b
}

// createArena creates an arena whose host is the player hana.
func (h *fixture) createArena(tune ...func(*protocol.NewArena)) (protocol.ArenaMade, *fakeArena) {
	h.Helper()
	made, err := h.Create(h.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: body(tune...)})
	if err != nil {
		h.Fatal(err)
	}
	return made, h.hall.matches["m_"+made.ArenaID[2:]]
}

// joinRequest returns a player's request for a place.
func joinRequest(player, code string, tune ...func(*JoinRequest)) JoinRequest {
	r := JoinRequest{Game: "demo", Player: player, Role: identity.RolePlayer, ArenaJoin: protocol.ArenaJoin{Code: code}}
	for _, f := range tune {
		f(&r)
	}
	return r
}

func withRole(role string) func(*JoinRequest) { return func(r *JoinRequest) { r.As = role } }

func inTeam(id string) func(*JoinRequest) { return func(r *JoinRequest) { r.Team = id } }

func asHostClient(r *JoinRequest) { r.Role = identity.RoleHost }

// mustJoin joins a person, who must be admitted, and then calls the function that
// notifies the others.
func (h *fixture) mustJoin(r JoinRequest) protocol.ArenaJoined {
	h.Helper()
	joined, then, err := h.Join(h.Context(), r)
	if err != nil {
		h.Fatalf("%s: %v", r.Player, err)
	}
	then()
	return joined
}

// checkRefused checks that a request was refused with a code and a message for
// people.
func (h *fixture) checkRefused(err error, want protocol.Code) *protocol.Error {
	h.Helper()
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != want || refused.Message == "" {
		h.Fatalf("%v, want %s", err, want)
	}
	return refused
}

// checkBusy checks what a player of demo is in, "" for nothing.
func (h *fixture) checkBusy(player, want string) {
	h.Helper()
	if got := h.hall.busy["demo/"+player]; got != want {
		h.Errorf("%s is busy with %q, want %q", player, got, want)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.mustJoin(joinRequest("ada", made.Code, inTeam("b:2")))
	for phase, want := range map[match.Phase]string{
		match.Lobby: "lobby", match.Starting: "lobby", match.Countdown: "playing", match.Open: "playing", match.Sealed: "playing",
		match.Revealed: "playing", match.Over: "over", match.Settled: "over",
	} {
		m.phase = phase
		look, err := h.Show(t.Context(), "demo", made.Code)
		if err != nil {
			t.Fatal(err)
		}
		door, err := h.FindJoinInfo(t.Context(), "demo", made.Code)
		if want := (JoinInfo{made.ArenaID, 500, want == "over"}); err != nil || door != want {
			t.Errorf("%s: %+v, want %+v; %v", phase, door, want, err)
		}
		if got, want := encoded(look), encoded(protocol.ArenaLook{
			ArenaID: made.ArenaID, Name: "Summer party", Mode: "buzzer", State: want, Players: 1,
			Teams: []protocol.TeamCount{{ID: "acme", Name: "Acme"}, {ID: "b:2", Name: "Bravo", Players: 1}},
		}); got != want {
			t.Errorf("%s: %s, want %s", phase, got, want)
		}
	}
}

// An unknown code is not found. A store that is down is not a refusal.
func TestShowFindsNothing(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made, m := h.createArena()
	h.hall.codes["demo/111111"], h.hall.codes["demo/222222"] = "m_gone", "m_duel"
	h.hall.matches["m_duel"] = &fakeArena{plan: &match.Plan{ID: "m_duel", Game: "demo"}}
	h.hall.codes["closed/"+made.Code] = m.plan.ID
	for _, c := range []struct{ game, code string }{
		{"demo", ""}, {"demo", "12345"}, {"demo", "12345x"}, {"demo", "+12345"}, {"demo", "1234567"}, {"demo", "999999999"},
		{"demo", "111111"}, {"demo", "222222"}, {"closed", made.Code}, {"other", made.Code},
	} {
		_, err := h.Show(t.Context(), c.game, c.code)
		h.checkRefused(err, protocol.CodeNotFound)
		_, err = h.FindJoinInfo(t.Context(), c.game, c.code)
		h.checkRefused(err, protocol.CodeNotFound)
	}
	for _, method := range []string{"FindCode", "ReadArena"} {
		h.hall.fails = map[string]bool{method: true}
		if _, err := h.Show(t.Context(), "demo", made.Code); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
