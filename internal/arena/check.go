package arena

import (
	"fmt"
	"slices"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
)

// arenaModes are the modes of arenas.
var arenaModes = []match.Mode{match.Buzzer, match.Survival, match.Race}

// Limits of the body of a request to create an arena.
const (
	maxNameRunes = 64 // characters
	minTeams     = 2
	maxTeams     = 64
	maxQuestions = 100
	minPlayers   = 2
	maxReadingMS = 60_000
)

// The values of pace in the wire contract.
const (
	paceAuto = "auto" // questions follow each other by time
	paceHost = "host" // the host starts each question
)

// checkBody refuses an invalid body. It returns the body with the missing
// values set to the game's defaults.
func checkBody(body protocol.NewArena, settings GameSettings) (_ protocol.NewArena, err error) {
	limit, players := body.TimeLimitMS, body.MaxPlayers
	switch {
	case !slices.Contains(arenaModes, match.Mode(body.Mode)):
		return body, badRequestError("mode is invalid; use buzzer, survival or race")
	case body.Pace != paceAuto && body.Pace != paceHost:
		return body, badRequestError("pace is invalid; use auto or host")
	case !isLimit(limit):
		return body, badRequestError("time_limit_ms is out of range; use %d to %d, or leave it out for the game's default", minLimitMS, maxLimitMS)
	case body.ReadingMS < 0 || body.ReadingMS > maxReadingMS:
		return body, badRequestError("reading_ms is out of range; use 0 to %d", maxReadingMS)
	case players != nil && (*players < minPlayers || *players > settings.MaxPlayers):
		return body, badRequestError("max_players is out of range; use %d to %d, or leave it out for the maximum", minPlayers, settings.MaxPlayers)
	}
	if limit == nil {
		body.TimeLimitMS = &settings.LimitMS
	}
	if players == nil {
		body.MaxPlayers = &settings.MaxPlayers
	}
	if body.Name, err = checkTitle("name", body.Name, settings); err != nil {
		return body, err
	}
	if body.Teams, err = checkTeams(body.Teams, settings); err != nil {
		return body, err
	}
	if err := checkRace(body); err != nil {
		return body, err
	}
	body.Questions, err = checkQuestions(body.Questions)
	return body, err
}

func checkTeams(teams []protocol.ArenaTeam, settings GameSettings) ([]protocol.ArenaTeam, error) {
	if n := len(teams); n != 0 && (n < minTeams || n > maxTeams) {
		return nil, badRequestError("teams has a wrong length; use %d to %d teams, or leave it out", minTeams, maxTeams)
	}
	checked := make([]protocol.ArenaTeam, len(teams))
	seen := make(map[string]bool, len(teams))
	for i, t := range teams {
		switch {
		case !identity.ValidID(t.ID):
			return nil, badRequestError("teams[%d].id is invalid; use 1 to 64 characters of A-Z a-z 0-9 _ . : -", i)
		case seen[t.ID]:
			return nil, badRequestError("teams[%d].id is used by another team; use a different id", i)
		}
		var err error
		if t.Name, err = checkTitle(fmt.Sprintf("teams[%d].name", i), t.Name, settings); err != nil {
			return nil, err
		}
		seen[t.ID], checked[i] = true, t
	}
	return checked, nil
}

func checkQuestions(questions protocol.ArenaQuestions) (protocol.ArenaQuestions, error) {
	if len(questions.Items) > 0 {
		if len(questions.IDs) > 0 {
			return questions, badRequestError("questions has ids and items; leave one of them out")
		}
		for _, item := range questions.Items {
			questions.IDs = append(questions.IDs, item.ID)
		}
	}
	if questions.Count == 0 {
		questions.Count = len(questions.IDs)
	}
	named := slices.Sorted(slices.Values(questions.IDs))
	switch {
	case questions.Count < 1 || questions.Count > maxQuestions:
		return questions, badRequestError("questions.count is out of range; use 1 to %d", maxQuestions)
	case len(questions.IDs) == 0:
		return questions, nil
	case questions.Count != len(questions.IDs):
		return questions, badRequestError("questions.ids or items name %d questions and questions.count is %d; leave out count", len(questions.IDs), questions.Count)
	case len(slices.Compact(named)) < questions.Count:
		return questions, badRequestError("questions.ids or items name a question twice; remove the duplicate")
	case questions.Category != "" || questions.Lang != "" || questions.Difficulty != "":
		return questions, badRequestError("questions.ids and items exclude category, lang and difficulty; leave out those or the ids")
	}
	return questions, nil
}

// checkTitle checks a name that all players of the arena see.
func checkTitle(field, raw string, settings GameSettings) (string, error) {
	line, err := nickname.ParseTitle(raw, maxNameRunes)
	if err != nil {
		return "", badRequestError("%s is not one line of 1 to %d characters: %v", field, maxNameRunes, err).Because(nickname.Reason(err))
	}
	if err := settings.Words.RefuseTitle(line); err != nil {
		return "", badRequestError("%s is refused, because all players see it: %v", field, err).Because(nickname.Reason(err))
	}
	return line, nil
}
