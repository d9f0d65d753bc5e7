package webhook

import (
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// matchData is the data of match.settled and arena.over. Standings and Teams contain
// only the highest ranks, in rank order.
type matchData struct {
	Game      string                  `json:"game"`
	Match     string                  `json:"match"`
	ArenaID   string                  `json:"arena_id,omitempty"`
	Mode      match.Mode              `json:"mode"`
	StartedAt int64                   `json:"started_at"`
	OverAt    int64                   `json:"over_at"`
	Reason    match.Reason            `json:"reason"`
	Questions int                     `json:"questions"`
	Counts    bool                    `json:"counts"` // the match counts for the leaderboards and the players' totals
	Winner    string                  `json:"winner,omitempty"`
	Players   int                     `json:"players"` // number of all players
	Standings []protocol.OverStanding `json:"standings"`
	Teams     []protocol.TeamStanding `json:"teams,omitempty"`
}

// settledMatchData returns a function that makes the matchData of a result, with at
// most limit standings and teams.
func settledMatch(r *match.Result) func(limit int) any {
	return func(limit int) any {
		d := matchData{
			Game: r.Game, Match: r.Match, ArenaID: r.ArenaID, Mode: r.Mode, StartedAt: r.StartedAt, OverAt: r.OverAt, Reason: r.Reason,
			Questions: r.Questions, Counts: r.Counts, Winner: r.Winner, Players: len(r.Standings), Standings: []protocol.OverStanding{},
		}
		for _, s := range first(r.Standings, limit) {
			d.Standings = append(d.Standings, s.View())
		}
		for _, t := range first(r.Teams, limit) {
			d.Teams = append(d.Teams, protocol.TeamStanding{Rank: t.Rank, ID: t.ID, Score: t.Score})
		}
		return d
	}
}

func first[E any](list []E, limit int) []E { return list[:min(limit, len(list))] }
