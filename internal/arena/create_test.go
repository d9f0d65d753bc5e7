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
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

func TestCreateStoresTheMatchAndTheCode(t *testing.T) {
	test := startTest(t)
	created, storedArena := test.createArena()
	if created.JoinURL != "" || !isCode(created.Code) || test.backend.matchByCode["demo/"+created.Code] != storedArena.plan.ID {
		t.Errorf("%+v, codes %v", created, test.backend.matchByCode)
	}
	want := &match.Plan{
		Form: match.CurrentForm, ID: "m_" + created.ArenaID[2:], Game: "demo", Mode: match.Buzzer, Questions: []quiz.DrawnQuestion{{Question: &quiz.Question{ID: "q0"}}, {Question: &quiz.Question{ID: "q1"}}, {Question: &quiz.Question{ID: "q2"}}},
		Rules: match.Rules{LimitMS: 15_000}, CountdownMS: 3000, RevealMS: 2500,
		Arena: &match.Arena{
			ID: created.ArenaID, Code: created.Code, Name: "Summer party", Host: "hana", MaxPlayers: 500, TeamLockoutMS: 700, HostPaced: true,
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
	test := startTest(t)
	created, err := test.Create(t.Context(), CreateRequest{Game: "closed", Creator: "login-service", Role: identity.RoleHost, NewArena: newArenaBody(func(body *protocol.NewArena) {
		limit, maxPlayers := int64(1000), 2
		body.Mode, body.Pace, body.Teams, body.TimeLimitMS, body.MaxPlayers, body.Ranked = "survival", "auto", nil, &limit, &maxPlayers, true
		body.Questions = protocol.ArenaQuestions{Bank: "own", IDs: []string{"q7", "q3"}}
	})})
	test.must(err)
	plan := test.backend.matches["m_"+created.ArenaID[2:]].plan
	if plan.Mode != match.Survival || plan.LimitMS != 1000 || !plan.CountsForLeaderboards || plan.Rated || len(plan.Questions) != 2 || plan.Questions[0].ID != "q7" {
		t.Errorf("%+v", plan)
	}
	if arena := plan.Arena; arena.MaxPlayers != 2 || arena.HostPaced || arena.Host != "login-service" || arena.Teams != nil || arena.TeamLockoutMS != 0 {
		t.Errorf("%+v", arena)
	}
}

// The settings of a race reach the plan.
func TestCreateSetsTheScoring(t *testing.T) {
	test := startTest(t)
	created, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RoleHost, NewArena: newArenaBody(func(body *protocol.NewArena) {
		limit, double := int64(7000), int64(2)
		body.Mode, body.ReadingMS, body.LateJoin = "race", 2000, "zero"
		body.Scoring = &protocol.NewScoring{Preset: "accuracy", Penalty: 20, Streak: 10, Partial: true}
		body.Questions = protocol.ArenaQuestions{Items: []protocol.ArenaItem{{ID: "q7", TimeLimitMS: &limit}, {ID: "q3", Points: &double}}}
	})})
	test.must(err)
	plan := test.backend.matches["m_"+created.ArenaID[2:]].plan
	if plan.Mode != match.Race || plan.ReadingMS != 2000 || !plan.Arena.LateJoin || *plan.Scoring != (quiz.Scoring{Preset: "accuracy", Points: 100, Penalty: 20, Streak: 10, Partial: true}) {
		t.Errorf("%+v, scoring %+v", plan, plan.Scoring)
	}
	if !slices.Equal(plan.LimitsMS, []int64{7000, plan.LimitMS}) || !slices.Equal(plan.Multipliers, []int64{1, 2}) || plan.Questions[0].ID != "q7" || plan.Questions[1].ID != "q3" {
		t.Errorf("%+v", plan)
	}
}

func TestCreateRefusesInvalidBodies(t *testing.T) {
	t.Parallel()
	int64Pointer := func(n int64) *int64 { return &n }
	intPointer := func(n int) *int { return &n }
	teams := func(n int, name func(int) string) []protocol.ArenaTeam {
		list := make([]protocol.ArenaTeam, n)
		for i := range list {
			list[i] = protocol.ArenaTeam{ID: name(i), Name: "T"}
		}
		return list
	}
	race := func(change func(*protocol.NewArena)) func(*protocol.NewArena) {
		return func(body *protocol.NewArena) {
			body.Mode, body.LateJoin, body.ReadingMS, body.Scoring = "race", "zero", 60_000, &protocol.NewScoring{Preset: "accuracy", Points: int64Pointer(1000), Penalty: 1000, Streak: 200}
			body.Questions = protocol.ArenaQuestions{Items: []protocol.ArenaItem{{ID: "q1", Points: int64Pointer(2)}, {ID: "q2", TimeLimitMS: int64Pointer(600_000)}}}
			if change != nil {
				change(body)
			}
		}
	}
	numberedID := func(i int) string { return fmt.Sprint("t", i) }
	for name, testCase := range map[string]struct {
		change        func(*protocol.NewArena)
		wantInMessage string // part of the error message; "" if the request succeeds
	}{
		"mode duel":              {func(body *protocol.NewArena) { body.Mode = "duel" }, "mode"},
		"no name":                {func(body *protocol.NewArena) { body.Name = " \t" }, "name"},
		"a race":                 {race(nil), ""},
		"items and ids":          {race(func(body *protocol.NewArena) { body.Questions.IDs = []string{"q1"} }), "items"},
		"an item twice":          {race(func(body *protocol.NewArena) { body.Questions.Items[1].ID = body.Questions.Items[0].ID }), "items"},
		"an item's limit":        {race(func(body *protocol.NewArena) { body.Questions.Items[1].TimeLimitMS = int64Pointer(999) }), "items[1].time_limit_ms"},
		"an item's points":       {race(func(body *protocol.NewArena) { body.Questions.Items[0].Points = int64Pointer(3) }), "items[0].points"},
		"points of a buzzer":     {race(func(body *protocol.NewArena) { body.Mode, body.Scoring, body.LateJoin = "buzzer", nil, "" }), "items[0].points"},
		"preset":                 {race(func(body *protocol.NewArena) { body.Scoring.Preset = "luck" }), "scoring.preset"},
		"no points":              {race(func(body *protocol.NewArena) { body.Scoring.Points = int64Pointer(0) }), "scoring.points"},
		"penalty":                {race(func(body *protocol.NewArena) { body.Scoring.Penalty = -1 }), "scoring.penalty"},
		"streak":                 {race(func(body *protocol.NewArena) { body.Scoring.Streak = 201 }), "scoring.streak"},
		"scoring of survival":    {race(func(body *protocol.NewArena) { body.Mode = "survival" }), "scoring"},
		"late join":              {race(func(body *protocol.NewArena) { body.LateJoin = "full" }), "late_join"},
		"late join of survival":  {race(func(body *protocol.NewArena) { body.Mode, body.Scoring = "survival", nil }), "late_join"},
		"reading too long":       {race(func(body *protocol.NewArena) { body.ReadingMS = 60_001 }), "reading_ms"},
		"64 characters":          {func(body *protocol.NewArena) { body.Name = strings.Repeat("猫", 64) }, ""},
		"65 characters":          {func(body *protocol.NewArena) { body.Name = strings.Repeat("x", 65) }, "name"},
		"two lines":              {func(body *protocol.NewArena) { body.Name = "a\nb" }, "name"},
		"no pace":                {func(body *protocol.NewArena) { body.Pace = "" }, "pace"},
		"time limit too short":   {func(body *protocol.NewArena) { body.TimeLimitMS = int64Pointer(999) }, "time_limit_ms"},
		"time limit too long":    {func(body *protocol.NewArena) { body.TimeLimitMS = int64Pointer(600_001) }, "time_limit_ms"},
		"longest time limit":     {func(body *protocol.NewArena) { body.TimeLimitMS = int64Pointer(600_000) }, ""},
		"one player":             {func(body *protocol.NewArena) { body.MaxPlayers = intPointer(1) }, "max_players"},
		"above the game's limit": {func(body *protocol.NewArena) { body.MaxPlayers = intPointer(501) }, "max_players"},
		"at the game's limit":    {func(body *protocol.NewArena) { body.MaxPlayers = intPointer(500) }, ""},
		"one team":               {func(body *protocol.NewArena) { body.Teams = body.Teams[:1] }, "teams"},
		"64 teams":               {func(body *protocol.NewArena) { body.Teams = teams(64, numberedID) }, ""},
		"65 teams":               {func(body *protocol.NewArena) { body.Teams = teams(65, numberedID) }, "teams"},
		"duplicate team id":      {func(body *protocol.NewArena) { body.Teams = teams(2, func(int) string { return "t" }) }, "teams[1].id"},
		"a team without id":      {func(body *protocol.NewArena) { body.Teams[1].ID = "" }, "teams[1].id"},
		"an id with a blank":     {func(body *protocol.NewArena) { body.Teams[0].ID = "a b" }, "teams[0].id"},
		"a team without name":    {func(body *protocol.NewArena) { body.Teams[1].Name = "  " }, "teams[1].name"},
		"no questions":           {func(body *protocol.NewArena) { body.Questions.Count = 0 }, "questions.count"},
		"negative count":         {func(body *protocol.NewArena) { body.Questions.Count = -1 }, "questions.count"},
		"101 questions":          {func(body *protocol.NewArena) { body.Questions.Count = 101 }, "questions.count"},
		"more than in the bank":  {func(body *protocol.NewArena) { body.Questions.Count = 31 }, "only 30"},
		"known bank":             {func(body *protocol.NewArena) { body.Questions.Bank = "own" }, ""},
		"unknown bank":           {func(body *protocol.NewArena) { body.Questions.Bank = "x" }, "bank"},
		"known language":         {func(body *protocol.NewArena) { body.Questions.Lang = "en" }, ""},
		"unknown language":       {func(body *protocol.NewArena) { body.Questions.Lang = "tlh" }, "lang"},
		"unknown category":       {func(body *protocol.NewArena) { body.Questions.Category = "x" }, "category"},
		"unknown difficulty":     {func(body *protocol.NewArena) { body.Questions.Difficulty = "x" }, "difficulty"},
		"as many ids as count":   {func(body *protocol.NewArena) { body.Questions.IDs = []string{"q1", "q2", "q3"} }, ""},
		"fewer ids than count":   {func(body *protocol.NewArena) { body.Questions.IDs = []string{"q1", "q2"} }, "questions.ids"},
		"duplicate question id":  {func(body *protocol.NewArena) { body.Questions.IDs = []string{"q1", "q2", "q1"} }, "twice"},
		"unknown question id":    {func(body *protocol.NewArena) { body.Questions.IDs = []string{"q1", "x", "q3"} }, "questions.ids"},
		"ids and a filter": {func(body *protocol.NewArena) {
			body.Questions.IDs, body.Questions.Lang = []string{"q1", "q2", "q3"}, "en"
		}, "leave out"},
		"ranked by a player": {func(body *protocol.NewArena) { body.Ranked = true }, "ranked"},
	} {
		t.Run(name, func(t *testing.T) {
			test := startTest(t)
			_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody(testCase.change)})
			if testCase.wantInMessage == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := protocol.CodeBadRequest
			if name == "ranked by a player" {
				want = protocol.CodeForbidden
			}
			if refused := test.checkRefused(err, want); !strings.Contains(refused.Message, testCase.wantInMessage) {
				t.Errorf("%q does not contain %q", refused.Message, testCase.wantInMessage)
			}
			if len(test.backend.matches)+len(test.backend.matchByCode) != 0 {
				t.Errorf("matches %v and codes %v are stored", test.backend.matches, test.backend.matchByCode)
			}
		})
	}
}

// A refusal that a host can do something about has a reason for programs.
func TestRefusedArenasHaveReasons(t *testing.T) {
	t.Parallel()
	for want, request := range map[string]CreateRequest{
		protocol.ReasonHostsOnly:       {Game: "closed", NewArena: newArenaBody()},
		protocol.ReasonTooFewQuestions: {Game: "demo", NewArena: newArenaBody(func(body *protocol.NewArena) { body.Questions.Count = 31 })},
		nickname.Characters:            {Game: "demo", NewArena: newArenaBody(func(body *protocol.NewArena) { body.Name = "a\nb" })},
		"":                             {Game: "demo", NewArena: newArenaBody(func(body *protocol.NewArena) { body.Pace = "" })},
	} {
		request.Creator, request.Role = "hana", identity.RolePlayer
		_, err := newArenaTest(t).Create(t.Context(), request)
		if refused, ok := errors.AsType[*protocol.Error](err); !ok || refused.Reason != want {
			t.Errorf("%v, want a refusal with the reason %q", err, want)
		}
	}
}

func TestCreateChecksTheRoleOfTheToken(t *testing.T) {
	t.Parallel()
	for _, testCase := range []struct {
		game    string
		role    identity.Role
		allowed bool
	}{
		{"demo", identity.RolePlayer, true}, {"closed", identity.RolePlayer, false}, {"closed", identity.RoleHost, true},
		{"demo", identity.RoleService, false}, {"demo", identity.RoleAdmin, false},
	} {
		test := newArenaTest(t)
		_, err := test.Create(t.Context(), CreateRequest{Game: testCase.game, Creator: "x", Role: testCase.role, NewArena: newArenaBody()})
		if testCase.allowed && err != nil {
			t.Errorf("%s in %s: %v", testCase.role, testCase.game, err)
		}
		if !testCase.allowed {
			test.checkRefused(err, protocol.CodeForbidden)
		}
	}
}

func TestCreateIsRefusedDuringOverload(t *testing.T) {
	test := startTest(t)
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
	test := startTest(t)
	test.backend.claimsToRefuse = maxCodeTries - 1
	created, _ := test.createArena()
	if test.backend.matchByCode["demo/"+created.Code] == "" {
		t.Errorf("%+v", created)
	}
	test.backend.claimsToRefuse = maxCodeTries
	_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody()})
	if refused := test.checkRefused(err, protocol.CodeOverloaded); refused.RetryAfterMS == 0 || len(test.backend.matches) != 1 {
		t.Errorf("%+v, %d matches", refused, len(test.backend.matches))
	}
	test.ReleaseCode("demo", created.Code)
	if !slices.Equal(test.backend.retiredCodes, []string{"demo/" + created.Code}) {
		t.Errorf("retired %v", test.backend.retiredCodes)
	}
}

// If the match cannot be created, the code is released.
func TestFailedCreateReleasesCode(t *testing.T) {
	t.Parallel()
	for method, wantRetired := range map[string]int{"ClaimCode": 0, "AddArena": 1, "CreateArena": 1} {
		test := newArenaTest(t)
		test.backend.failingMethods[method] = true
		_, err := test.Create(t.Context(), CreateRequest{Game: "demo", Creator: "hana", Role: identity.RolePlayer, NewArena: newArenaBody()})
		if !errors.Is(err, errDown) || len(test.backend.retiredCodes) != wantRetired {
			t.Errorf("%s: %v, retired %v", method, err, test.backend.retiredCodes)
		}
		if n := testutil.ToFloat64(test.metrics.creations.WithLabelValues("failed")); n != 1 {
			t.Errorf("%g counted", n)
		}
	}
}
