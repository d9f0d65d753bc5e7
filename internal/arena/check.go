package arena

import (
	"fmt"
	"slices"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
)

// Limits of the body of a request to create an arena.
const (
	maxName      = 64 // characters
	minTeams     = 2
	maxTeams     = 64
	maxQuestions = 100
	minLimitMS   = 1000
	maxLimitMS   = 600_000
	minPlayers   = 2
)

// The values of pace in the wire contract.
const (
	paceAuto = "auto" // questions follow each other by time
	paceHost = "host" // the host starts each question
)

// checkBody refuses an invalid body. It returns the body with the missing
// values set to the game's defaults.
func checkBody(b protocol.NewArena, g Game) (_ protocol.NewArena, err error) {
	limit, players := b.TimeLimitMS, b.MaxPlayers
	switch {
	case b.Mode != string(match.Buzzer) && b.Mode != string(match.Survival):
		return b, badRequest("mode is invalid; use buzzer or survival")
	case b.Pace != paceAuto && b.Pace != paceHost:
		return b, badRequest("pace is invalid; use auto or host")
	case limit != nil && (*limit < minLimitMS || *limit > maxLimitMS):
		return b, badRequest("time_limit_ms is out of range; use %d to %d, or leave it out for the game's default", minLimitMS, maxLimitMS)
	case players != nil && (*players < minPlayers || *players > g.MaxPlayers):
		return b, badRequest("max_players is out of range; use %d to %d, or leave it out for the maximum", minPlayers, g.MaxPlayers)
	}
	if limit == nil {
		b.TimeLimitMS = &g.LimitMS
	}
	if players == nil {
		b.MaxPlayers = &g.MaxPlayers
	}
	if b.Name, err = checkTitle("name", b.Name, g); err != nil {
		return b, err
	}
	if b.Teams, err = checkTeams(b.Teams, g); err != nil {
		return b, err
	}
	b.Questions, err = checkQuestions(b.Questions)
	return b, err
}

func checkTeams(teams []protocol.ArenaTeam, g Game) ([]protocol.ArenaTeam, error) {
	if n := len(teams); n != 0 && (n < minTeams || n > maxTeams) {
		return nil, badRequest("teams has a wrong length; use %d to %d teams, or leave it out", minTeams, maxTeams)
	}
	checked := make([]protocol.ArenaTeam, len(teams))
	seen := make(map[string]bool, len(teams))
	for i, t := range teams {
		switch {
		case !identity.ValidID(t.ID):
			return nil, badRequest("teams[%d].id is invalid; use 1 to 64 characters of A-Z a-z 0-9 _ . : -", i)
		case seen[t.ID]:
			return nil, badRequest("teams[%d].id is used by another team; use a different id", i)
		}
		var err error
		if t.Name, err = checkTitle(fmt.Sprintf("teams[%d].name", i), t.Name, g); err != nil {
			return nil, err
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
		return q, badRequest("questions.count is out of range; use 1 to %d", maxQuestions)
	case len(q.IDs) == 0:
		return q, nil
	case q.Count != len(q.IDs):
		return q, badRequest("questions.ids has %d ids and questions.count is %d; leave one of them out", len(q.IDs), q.Count)
	case len(slices.Compact(named)) < q.Count:
		return q, badRequest("questions.ids contains a question twice; remove the duplicate")
	case q.Category != "" || q.Lang != "" || q.Difficulty != "":
		return q, badRequest("questions.ids excludes category, lang and difficulty; leave out those or the ids")
	}
	return q, nil
}

// checkTitle checks a name that all players of the arena see.
func checkTitle(field, raw string, g Game) (string, error) {
	line, err := nickname.Line(raw, maxName)
	if err != nil {
		return "", &titleError{outcomeBadName, badRequest("%s is not one line of 1 to %d characters: %v", field, maxName, err)}
	}
	if err := g.Words.RefuseLine(line); err != nil {
		return "", &titleError{outcomeBadWord, badRequest("%s is refused, because all players see it: %v", field, err)}
	}
	return line, nil
}

// titleError is a refusal of a name, with its outcome in the metrics.
type titleError struct {
	outcome string
	refusal error
}

func (e *titleError) Error() string { return e.refusal.Error() }
func (e *titleError) Unwrap() error { return e.refusal }
