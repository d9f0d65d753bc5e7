package arena

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

func TestCreateStoresTheMatchAndTheCode(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, storedArena := test.createArena()
	if made.JoinURL != "" || !isCode(made.Code) || test.backend.codes["demo/"+made.Code] != storedArena.plan.ID {
		t.Errorf("%+v, codes %v", made, test.backend.codes)
	}
	want := &match.Plan{
		Form: match.CurrentForm, ID: "m_" + made.ArenaID[2:], Game: "demo", Mode: match.Buzzer, Questions: []quiz.DrawnQuestion{{Question: &quiz.Question{ID: "q0"}}, {Question: &quiz.Question{ID: "q1"}}, {Question: &quiz.Question{ID: "q2"}}},
		LimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500,
		Arena: &match.Arena{
			ID: made.ArenaID, Code: made.Code, Name: "Summer party", Host: "hana", MaxPlayers: 500, TeamLockoutMS: 700, HostPaced: true,
			Teams: []match.Team{{ID: "acme", Name: "Acme"}, {ID: "b:2", Name: "Bravo"}},
		},
	}
	if got := toJSON(storedArena.plan); got != toJSON(want) {
		t.Errorf("%s\nwant %s", got, toJSON(want))
	}
	if n := testutil.ToFloat64(test.metrics.creations.WithLabelValues("created")); n != 1 {
		t.Errorf("%g counted", n)
	}
}

func TestCreateUsesTheRequestedValues(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	made, err := test.Create(t.Context(), CreateRequest{Game: "closed", Creator: "login-service", Role: identity.RoleHost, NewArena: newArenaBody(func(b *protocol.NewArena) {
		limit, fewest := int64(1000), 2
		b.Mode, b.Pace, b.Teams, b.TimeLimitMS, b.MaxPlayers, b.Ranked = "survival", "auto", nil, &limit, &fewest, true
		b.Questions = protocol.ArenaQuestions{Bank: "own", IDs: []string{"q7", "q3"}}
	})})
	if err != nil {
		t.Fatal(err)
	}
	p := test.backend.matches["m_"+made.ArenaID[2:]].plan
	if p.Mode != match.Survival || p.LimitMS != 1000 || !p.CountsForLeaderboards || p.Rated || len(p.Questions) != 2 || p.Questions[0].ID != "q7" {
		t.Errorf("%+v", p)
	}
	if a := p.Arena; a.MaxPlayers != 2 || a.HostPaced || a.Host != "login-service" || a.Teams != nil || a.TeamLockoutMS != 0 {
		t.Errorf("%+v", a)
	}
}

func TestCreateRefusesBodies(t *testing.T) {
	t.Parallel()
	number := func(n int64) *int64 { return &n }
	players := func(n int) *int { return &n }
	many := func(n int, name func(int) string) []protocol.ArenaTeam {
		teams := make([]protocol.ArenaTeam, n)
		for i := range teams {
			teams[i] = protocol.ArenaTeam{ID: name(i), Name: "T"}
		}
		return teams
	}
	numbered := func(i int) string { return fmt.Sprint("t", i) }
	for name, c := range map[string]struct {
		tune func(*protocol.NewArena)
		says string // part of the error message; "" if the request succeeds
	}{
		"mode duel":              {func(b *protocol.NewArena) { b.Mode = "duel" }, "mode"},
		"no name":                {func(b *protocol.NewArena) { b.Name = " \t" }, "name"},
		"64 characters":          {func(b *protocol.NewArena) { b.Name = strings.Repeat("猫", 64) }, ""},
		"65 characters":          {func(b *protocol.NewArena) { b.Name = strings.Repeat("x", 65) }, "name"},
		"two lines":              {func(b *protocol.NewArena) { b.Name = "a\nb" }, "name"},
		"no pace":                {func(b *protocol.NewArena) { b.Pace = "" }, "pace"},
		"time limit too short":   {func(b *protocol.NewArena) { b.TimeLimitMS = number(999) }, "time_limit_ms"},
		"time limit too long":    {func(b *protocol.NewArena) { b.TimeLimitMS = number(600_001) }, "time_limit_ms"},
		"longest time limit":     {func(b *protocol.NewArena) { b.TimeLimitMS = number(600_000) }, ""},
		"one player":             {func(b *protocol.NewArena) { b.MaxPlayers = players(1) }, "max_players"},
		"above the game's limit": {func(b *protocol.NewArena) { b.MaxPlayers = players(501) }, "max_players"},
		"at the game's limit":    {func(b *protocol.NewArena) { b.MaxPlayers = players(500) }, ""},
		"one team":               {func(b *protocol.NewArena) { b.Teams = b.Teams[:1] }, "teams"},
		"64 teams":               {func(b *protocol.NewArena) { b.Teams = many(64, numbered) }, ""},
		"65 teams":               {func(b *protocol.NewArena) { b.Teams = many(65, numbered) }, "teams"},
		"duplicate team id":      {func(b *protocol.NewArena) { b.Teams = many(2, func(int) string { return "t" }) }, "teams[1].id"},
		"a team without id":      {func(b *protocol.NewArena) { b.Teams[1].ID = "" }, "teams[1].id"},
		"an id with a blank":     {func(b *protocol.NewArena) { b.Teams[0].ID = "a b" }, "teams[0].id"},
		"a team without name":    {func(b *protocol.NewArena) { b.Teams[1].Name = "  " }, "teams[1].name"},
		"no questions":           {func(b *protocol.NewArena) { b.Questions.Count = 0 }, "questions.count"},
		"negative count":         {func(b *protocol.NewArena) { b.Questions.Count = -1 }, "questions.count"},
		"101 questions":          {func(b *protocol.NewArena) { b.Questions.Count = 101 }, "questions.count"},
		"more than in the bank":  {func(b *protocol.NewArena) { b.Questions.Count = 31 }, "only 30"},
		"known bank":             {func(b *protocol.NewArena) { b.Questions.Bank = "own" }, ""},
		"unknown bank":           {func(b *protocol.NewArena) { b.Questions.Bank = "x" }, "bank"},
		"known language":         {func(b *protocol.NewArena) { b.Questions.Lang = "en" }, ""},
		"unknown language":       {func(b *protocol.NewArena) { b.Questions.Lang = "tlh" }, "lang"},
		"unknown category":       {func(b *protocol.NewArena) { b.Questions.Category = "x" }, "category"},
		"unknown difficulty":     {func(b *protocol.NewArena) { b.Questions.Difficulty = "x" }, "difficulty"},
		"as many ids as count":   {func(b *protocol.NewArena) { b.Questions.IDs = []string{"q1", "q2", "q3"} }, ""},
		"fewer ids than count":   {func(b *protocol.NewArena) { b.Questions.IDs = []string{"q1", "q2"} }, "questions.ids"},
		"duplicate question id":  {func(b *protocol.NewArena) { b.Questions.IDs = []string{"q1", "q2", "q1"} }, "twice"},
		"unknown question id":    {func(b *protocol.NewArena) { b.Questions.IDs = []string{"q1", "x", "q3"} }, "questions.ids"},
		"ids and a filter": {func(b *protocol.NewArena) {
			b.Questions.IDs, b.Questions.Lang = []string{"q1", "q2", "q3"}, "en"
		}, "leave out"},
		"ranked by a player": {func(b *protocol.NewArena) { b.Ranked = true }, "ranked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := newFixture(t)
			_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody(c.tune)})
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := protocol.CodeBadRequest
			if name == "ranked by a player" {
				want = protocol.CodeForbidden
			}
			if refused := test.checkRefused(err, want); !strings.Contains(refused.Message, c.says) {
				t.Errorf("%q does not contain %q", refused.Message, c.says)
			}
			if len(test.backend.matches)+len(test.backend.codes) != 0 {
				t.Errorf("matches %v and codes %v are stored", test.backend.matches, test.backend.codes)
			}
		})
	}
}

func TestCreateChecksTheRoleOfTheToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		game    string
		role    identity.Role
		allowed bool
	}{
		{"demo", identity.RolePlayer, true}, {"closed", identity.RolePlayer, false}, {"closed", identity.RoleHost, true},
		{"demo", identity.RoleService, false}, {"demo", identity.RoleAdmin, false},
	} {
		test := newFixture(t)
		_, err := test.Create(t.Context(), CreateRequest{Game: c.game, Creator: "x", Role: c.role, NewArena: newArenaBody()})
		if c.allowed && err != nil {
			t.Errorf("%s in %s: %v", c.role, c.game, err)
		}
		if !c.allowed {
			test.checkRefused(err, protocol.CodeForbidden)
		}
	}
}

func TestCreateIsRefusedDuringOverload(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	test.backend.isOverloaded = true
	_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody()})
	if refused := test.checkRefused(err, protocol.CodeOverloaded); refused.RetryAfterMS == 0 {
		t.Errorf("%+v", refused)
	}
	if n := testutil.ToFloat64(test.metrics.creations.WithLabelValues("overloaded")); n != 1 {
		t.Errorf("%g counted", n)
	}
}

// Create tries other codes if a code is taken, up to maxCodeTries.
func TestCreateTriesOtherCodes(t *testing.T) {
	t.Parallel()
	test := newFixture(t)
	test.backend.claimsToRefuse = maxCodeTries - 1
	made, _ := test.createArena()
	if test.backend.codes["demo/"+made.Code] == "" {
		t.Errorf("%+v", made)
	}
	test.backend.claimsToRefuse = maxCodeTries
	_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody()})
	if refused := test.checkRefused(err, protocol.CodeOverloaded); refused.RetryAfterMS == 0 || len(test.backend.matches) != 1 {
		t.Errorf("%+v, %d matches", refused, len(test.backend.matches))
	}
	test.ReleaseCode("demo", made.Code)
	if !slices.Equal(test.backend.retiredCodes, []string{"demo/" + made.Code}) {
		t.Errorf("retired %v", test.backend.retiredCodes)
	}
}

// If the match cannot be created, the code is released.
func TestAFailedCreateReleasesTheCode(t *testing.T) {
	t.Parallel()
	for method, rested := range map[string]int{"ClaimCode": 0, "CreateArena": 1} {
		test := newFixture(t)
		test.backend.failingMethods[method] = true
		_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody()})
		if !errors.Is(err, errDown) || len(test.backend.retiredCodes) != rested {
			t.Errorf("%s: %v, retired %v", method, err, test.backend.retiredCodes)
		}
		if n := testutil.ToFloat64(test.metrics.creations.WithLabelValues("failed")); n != 1 {
			t.Errorf("%g counted", n)
		}
	}
}
