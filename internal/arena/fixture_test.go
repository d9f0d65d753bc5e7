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
	backend *fakeBackend
}

func newFixture(t *testing.T) *fixture {
	h := newFakeBackend()
	return &fixture{T: t, backend: h, Service: New(Config{
		Games: map[string]GameSettings{
			"demo":   {PlayersMayHost: true, LimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500, MaxPlayers: 500, TeamLockoutMS: 700},
			"closed": {LimitMS: 15_000, MaxPlayers: 500},
		},
		Seats: h, Codes: h, Activities: h, Matches: h, Bank: fakeBank{}, Players: h,
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})}
}

// newArenaBody returns a valid request body, changed by tune.
func newArenaBody(tune ...func(*protocol.NewArena)) protocol.NewArena {
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
func (f *fixture) createArena(tune ...func(*protocol.NewArena)) (protocol.ArenaMade, *fakeArena) {
	f.Helper()
	created, err := f.Create(f.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody(tune...)})
	if err != nil {
		f.Fatal(err)
	}
	return created, f.backend.matches["m_"+created.ArenaID[2:]]
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
func (f *fixture) mustJoin(r JoinRequest) protocol.ArenaJoined {
	f.Helper()
	joined, notifyOthers, err := f.Join(f.Context(), r)
	if err != nil {
		f.Fatalf("%s: %v", r.Player, err)
	}
	notifyOthers()
	return joined
}

// checkRefused checks that a request was refused with a code and a message for
// people.
func (f *fixture) checkRefused(err error, want protocol.Code) *protocol.Error {
	f.Helper()
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != want || refused.Message == "" {
		f.Fatalf("%v, want %s", err, want)
	}
	return refused
}

// checkActivity checks which match occupies a player of the game demo; "" for none.
func (f *fixture) checkBusy(player, want string) {
	f.Helper()
	if got := f.backend.busy["demo/"+player]; got != want {
		f.Errorf("%s is occupied by %q, want %q", player, got, want)
	}
}

func TestShowDescribesTheArenaInEachPhase(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", made.Code, inTeam("b:2")))
	for phase, want := range map[match.Phase]string{
		match.PhaseLobby: "lobby", match.PhaseStarting: "lobby", match.PhaseCountdown: "playing", match.PhaseOpen: "playing", match.PhaseSealed: "playing",
		match.PhaseRevealed: "playing", match.PhaseOver: "over", match.PhaseSettled: "over",
	} {
		storedArena.phase = phase
		shown, err := test.Show(t.Context(), "demo", made.Code)
		if err != nil {
			t.Fatal(err)
		}
		info, err := test.FindJoinInfo(t.Context(), "demo", made.Code)
		if want := (JoinInfo{made.ArenaID, 500, want == "over"}); err != nil || info != want {
			t.Errorf("%s: %+v, want %+v; %v", phase, info, want, err)
		}
		if got, want := toJSON(shown), toJSON(protocol.ArenaLook{
			ArenaID: made.ArenaID, Name: "Summer party", Mode: "buzzer", State: want, Players: 1,
			Teams: []protocol.TeamCount{{ID: "acme", Name: "Acme"}, {ID: "b:2", Name: "Bravo", Players: 1}},
		}); got != want {
			t.Errorf("%s: %s, want %s", phase, got, want)
		}
	}
}

// An unknown code is not found. A store that is down is not a refusal.
func TestShowOfAnUnknownCodeIsNotFound(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	test.backend.codes["demo/111111"], test.backend.codes["demo/222222"] = "m_gone", "m_duel"
	test.backend.matches["m_duel"] = &fakeArena{plan: &match.Plan{ID: "m_duel", Game: "demo"}}
	test.backend.codes["closed/"+made.Code] = storedArena.plan.ID
	for _, c := range []struct{ game, code string }{
		{"demo", ""}, {"demo", "12345"}, {"demo", "12345x"}, {"demo", "+12345"}, {"demo", "1234567"}, {"demo", "999999999"},
		{"demo", "111111"}, {"demo", "222222"}, {"closed", made.Code}, {"other", made.Code},
	} {
		_, err := test.Show(t.Context(), c.game, c.code)
		test.checkRefused(err, protocol.CodeNotFound)
		_, err = test.FindJoinInfo(t.Context(), c.game, c.code)
		test.checkRefused(err, protocol.CodeNotFound)
	}
	for _, method := range []string{"FindCode", "ReadArena"} {
		test.backend.failingMethods = map[string]bool{method: true}
		if _, err := test.Show(t.Context(), "demo", made.Code); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
