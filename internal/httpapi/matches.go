package httpapi

import (
	"net/http"

	"laststand/internal/leaderboard/display"
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

func publicFirsts(kept []match.First) []matchFirst {
	var firsts []matchFirst
	for _, f := range kept {
		firsts = append(firsts, matchFirst{
			Question: f.Question, Player: f.Player, Nickname: f.Nickname, Team: f.Team, At: f.At, ElapsedMS: f.ElapsedMS,
		})
	}
	return firsts
}

func (a *api) getMatch(w http.ResponseWriter, r *request) error {
	page, err := readPaging(r.query)
	if err != nil {
		return err
	}
	m, err := a.History.Match(r.Context(), r.game, r.PathValue("match"))
	if err != nil {
		return err
	}
	from, to, next, err := page.window(m.Players)
	if err != nil {
		return err
	}
	view := finishedMatch{
		Match: m.Match, Mode: m.Mode, StartedAt: m.StartedAt, OverAt: m.OverAt, Reason: m.Reason,
		Questions: m.Questions, Firsts: publicFirsts(m.Firsts), NextCursor: next,
	}
	for _, t := range m.Teams {
		view.Teams = append(view.Teams, protocol.TeamStanding{Rank: t.Rank, ID: t.ID, Score: t.Score})
	}
	if view.Standings, err = a.History.Standings(r.Context(), m, from, to); err != nil {
		return err
	}
	shown := display.EncodeAnswer(view)
	shown.IsFinal = true
	return writeCacheable(w, r, shown)
}
