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

// arenaTest is a test with a Service that uses a fakeBackend.
type arenaTest struct {
	*testing.T
	*Service
	backend *fakeBackend
}

func newArenaTest(t *testing.T) *arenaTest {
	backend := newFakeBackend()
	return &arenaTest{T: t, backend: backend, Service: New(Config{
		Games: map[string]GameSettings{
			"demo":   {PlayersMayHost: true, LimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500, MaxPlayers: 500, TeamLockoutMS: 700},
			"closed": {LimitMS: 15_000, MaxPlayers: 500},
		},
		Records: backend, Seats: backend, Codes: backend, Activities: backend, Matches: backend, Commands: backend, Audience: backend, Bank: fakeBank{}, Players: backend,
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	})}
}

// startTest returns an arenaTest that runs in parallel with others.
func startTest(t *testing.T) *arenaTest {
	t.Parallel()
	return newArenaTest(t)
}

// must ends the test if there is an error.
func (test *arenaTest) must(err error) {
	test.Helper()
	if err != nil {
		test.Fatal(err)
	}
}

// newArenaBody returns a valid request body, changed by tune.
func newArenaBody(changes ...func(*protocol.NewArena)) protocol.NewArena {
	body := protocol.NewArena{
		Mode: "buzzer", Name: "  Summer party ", Pace: "host", Questions: protocol.ArenaQuestions{Count: 3},
		Teams: []protocol.ArenaTeam{{ID: "acme", Name: " Acme "}, {ID: "b:2", Name: "Bravo"}},
	}
	for _, change := range changes {
		change(&body)
	}
	return body
}

// createArena creates an arena whose host is the player hana.
func (test *arenaTest) createArena(changes ...func(*protocol.NewArena)) (protocol.ArenaMade, *fakeArena) {
	test.Helper()
	created, err := test.Create(test.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody(changes...)})
	test.must(err)
	return created, test.backend.matches["m_"+created.ArenaID[2:]]
}

// joinRequest returns a player's request for a place.
func joinRequest(player, code string, changes ...func(*JoinRequest)) JoinRequest {
	request := JoinRequest{Game: "demo", Player: player, Role: identity.RolePlayer, ArenaJoin: protocol.ArenaJoin{Code: code}}
	for _, change := range changes {
		change(&request)
	}
	return request
}

func withRole(role string) func(*JoinRequest) { return func(r *JoinRequest) { r.As = role } }

func inTeam(id string) func(*JoinRequest) { return func(r *JoinRequest) { r.Team = id } }

func asHostClient(r *JoinRequest) { r.Role = identity.RoleHost }

// mustJoin joins a person, who must be admitted, and then calls the function that
// notifies the others.
func (test *arenaTest) mustJoin(request JoinRequest) protocol.ArenaJoined {
	test.Helper()
	joined, notifyOthers, err := test.Join(test.Context(), request)
	if err != nil {
		test.Fatalf("%s: %v", request.Player, err)
	}
	notifyOthers()
	return joined
}

// checkRefused checks that a request was refused with a code and a message for
// people.
func (test *arenaTest) checkRefused(err error, want protocol.Code) *protocol.Error {
	test.Helper()
	var refused *protocol.Error
	if !errors.As(err, &refused) || refused.Code != want || refused.Message == "" {
		test.Fatalf("%v, want %s", err, want)
	}
	return refused
}

// checkActivity checks which match occupies a player of the game demo; "" for none.
func (test *arenaTest) checkActivity(player, want string) {
	test.Helper()
	if got := test.backend.matchByPlayer["demo/"+player]; got != want {
		test.Errorf("%s is occupied by %q, want %q", player, got, want)
	}
}

func TestShowDescribesTheArenaInEachPhase(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.mustJoin(joinRequest("ada", created.Code, inTeam("b:2")))
	for phase, want := range map[match.Phase]string{
		match.PhaseLobby: "lobby", match.PhaseStarting: "lobby", match.PhaseCountdown: "playing", match.PhaseOpen: "playing", match.PhaseSealed: "playing",
		match.PhaseRevealed: "playing", match.PhaseOver: "over", match.PhaseSettled: "over",
	} {
		storedArena.phase, storedArena.plan.Arena.LateJoin = phase, phase == match.PhaseOpen
		shown, err := test.Show(t.Context(), "demo", created.Code)
		test.must(err)
		info, err := test.FindJoinInfo(t.Context(), "demo", created.Code)
		if want := (JoinInfo{created.ArenaID, 500, want == "over"}); err != nil || info != want {
			t.Errorf("%s: %+v, want %+v; %v", phase, info, want, err)
		}
		if got, want := toJSON(shown), toJSON(protocol.ArenaLook{
			ArenaID: created.ArenaID, Name: "Summer party", Mode: "buzzer", State: want, Players: 1,
			Teams:    []protocol.TeamCount{{ID: "acme", Name: "Acme"}, {ID: "b:2", Name: "Bravo", Players: 1}},
			LateJoin: map[bool]string{true: "zero"}[phase == match.PhaseOpen],
		}); got != want {
			t.Errorf("%s: %s, want %s", phase, got, want)
		}
	}
}

// An unknown code is not found. A store that is down is not a refusal.
func TestShowOfAnUnknownCodeIsNotFound(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	test.backend.matchByCode["demo/111111"], test.backend.matchByCode["demo/222222"] = "m_gone", "m_duel"
	test.backend.matches["m_duel"] = &fakeArena{plan: &match.Plan{ID: "m_duel", Game: "demo"}}
	test.backend.matchByCode["closed/"+created.Code] = storedArena.plan.ID
	for _, lookup := range []struct{ game, code string }{
		{"demo", ""}, {"demo", "12345"}, {"demo", "12345x"}, {"demo", "+12345"}, {"demo", "1234567"}, {"demo", "999999999"},
		{"demo", "111111"}, {"demo", "222222"}, {"closed", created.Code}, {"other", created.Code},
	} {
		_, err := test.Show(t.Context(), lookup.game, lookup.code)
		test.checkRefused(err, protocol.CodeNotFound)
		_, err = test.FindJoinInfo(t.Context(), lookup.game, lookup.code)
		test.checkRefused(err, protocol.CodeNotFound)
	}
	for _, method := range []string{"FindCode", "ReadArena"} {
		test.backend.failingMethods = map[string]bool{method: true}
		if _, err := test.Show(t.Context(), "demo", created.Code); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
