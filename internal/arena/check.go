package arena

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// The bounds of an arena's body.
const (
	maxName      = 64 // characters
	minTeams     = 2
	maxTeams     = 64
	maxQuestions = 100
	minLimitMS   = 1000
	maxLimitMS   = 600_000
	minPlayers   = 2
)

// The paces of the wire contract.
const (
	byItself = "auto"
	byHost   = "host"
)

// check refuses what an arena cannot be, and gives the body with the blanks
// filled in by the game.
func check(b protocol.NewArena, g Game) (protocol.NewArena, error) {
	b.Name = strings.TrimSpace(b.Name)
	limit, players := b.TimeLimitMS, b.MaxPlayers
	switch {
	case b.Mode != string(match.Buzzer) && b.Mode != string(match.Survival):
		return b, bad("mode is buzzer or survival")
	case !isName(b.Name):
		return b, bad("name is a line of 1 to %d characters", maxName)
	case b.Pace != byItself && b.Pace != byHost:
		return b, bad("pace is auto or host")
	case limit != nil && (*limit < minLimitMS || *limit > maxLimitMS):
		return b, bad("time_limit_ms is a number from %d to %d; without it the game's own holds", minLimitMS, maxLimitMS)
	case players != nil && (*players < minPlayers || *players > g.MaxPlayers):
		return b, bad("max_players is a number from %d to %d; without it the latter holds", minPlayers, g.MaxPlayers)
	}
	if limit == nil {
		b.TimeLimitMS = &g.LimitMS
	}
	if players == nil {
		b.MaxPlayers = &g.MaxPlayers
	}
	var err error
	if b.Teams, err = checkTeams(b.Teams); err != nil {
		return b, err
	}
	b.Questions, err = checkQuestions(b.Questions)
	return b, err
}

func checkTeams(teams []protocol.ArenaTeam) ([]protocol.ArenaTeam, error) {
	if n := len(teams); n != 0 && (n < minTeams || n > maxTeams) {
		return nil, bad("teams are %d to %d, or left out", minTeams, maxTeams)
	}
	checked := make([]protocol.ArenaTeam, len(teams))
	seen := make(map[string]bool, len(teams))
	for i, t := range teams {
		t.Name = strings.TrimSpace(t.Name)
		switch {
		case !identity.ValidID(t.ID):
			return nil, bad("teams[%d].id is 1 to 64 of A-Z a-z 0-9 _ . : -", i)
		case seen[t.ID]:
			return nil, bad("teams[%d].id is another team's already", i)
		case !isName(t.Name):
			return nil, bad("teams[%d].name is a line of 1 to %d characters", i, maxName)
		}
		seen[t.ID], checked[i] = true, t
	}
	return checked, nil
}

func checkQuestions(q protocol.ArenaQuestions) (protocol.ArenaQuestions, error) {
	if q.Count == 0 {
		q.Count = len(q.IDs)
	}
	named := slices.Sorted(slices.Values(q.IDs))
	switch {
	case q.Count < 1 || q.Count > maxQuestions:
		return q, bad("questions.count is a number from 1 to %d", maxQuestions)
	case len(q.IDs) == 0:
		return q, nil
	case q.Count != len(q.IDs):
		return q, bad("questions.ids are %d and questions.count is %d; leave one of them out", len(q.IDs), q.Count)
	case len(slices.Compact(named)) < q.Count:
		return q, bad("questions.ids names a question twice")
	case q.Category != "" || q.Lang != "" || q.Difficulty != "":
		return q, bad("questions.ids says what is asked; leave out category, lang and difficulty")
	}
	return q, nil
}

func isName(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= maxName && !strings.ContainsFunc(s, unicode.IsControl)
}
