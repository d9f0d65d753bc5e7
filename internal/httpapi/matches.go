package httpapi

import (
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// finishedMatch is the response with one page of a settled match. A page contains
// some of the standings, but all Teams and Firsts of a buzzer match.
type finishedMatch struct {
	Match      string                  `json:"match"`
	Mode       match.Mode              `json:"mode"`
	StartedAt  int64                   `json:"started_at"`
	OverAt     int64                   `json:"over_at"`
	Reason     match.Reason            `json:"reason"`
	Questions  int                     `json:"questions"`
	Standings  []protocol.OverStanding `json:"standings"`
	Teams      []protocol.TeamStanding `json:"teams,omitempty"`
	Firsts     []matchFirst            `json:"firsts,omitempty"`
	Voided     []int                   `json:"voided,omitempty"` // questions made void after the match
	NextCursor string                  `json:"next_cursor,omitempty"`
}

// matchFirst is a match.First without the node, because node ids are internal.
type matchFirst struct {
	Question  int    `json:"question"`
	Player    string `json:"player"`
	Nickname  string `json:"nickname"`
	Team      string `json:"team,omitempty"`
	At        int64  `json:"at"`
	ElapsedMS int64  `json:"elapsed_ms"`
}

func publicFirsts(stored []match.First) []matchFirst {
	var firsts []matchFirst
	for _, first := range stored {
		firsts = append(firsts, matchFirst{
			Question: first.Question, Player: first.Player, Nickname: first.Nickname, Team: first.Team, At: first.ArrivedAt, ElapsedMS: first.ElapsedMS,
		})
	}
	return firsts
}

func (h boardRoutes) getMatch(r *request) (any, error) {
	page, err := readPaging(r.query)
	if err != nil {
		return nil, err
	}
	summary, err := h.History.Match(r.Context(), r.game, r.PathValue("match"))
	if err != nil {
		return nil, err
	}
	from, to, next, err := page.indexRange(summary.Players)
	if err != nil {
		return nil, err
	}
	view := finishedMatch{
		Match: summary.Match, Mode: summary.Mode, StartedAt: summary.StartedAt, OverAt: summary.OverAt, Reason: summary.Reason,
		Questions: summary.Questions, Firsts: publicFirsts(summary.Firsts), Voided: summary.Voided, NextCursor: next,
	}
	for _, team := range summary.Teams {
		view.Teams = append(view.Teams, protocol.TeamStanding{Rank: team.Rank, ID: team.ID, Score: team.Score})
	}
	if view.Standings, err = h.History.Standings(r.Context(), summary, from, to); err != nil {
		return nil, err
	}
	body := leaderboard.EncodeAnswer(view)
	body.IsFinal = true
	return r.cacheable(body, nil)
}
