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
func settledMatchData(result *match.Result) func(limit int) any {
	return func(limit int) any {
		data := matchData{
			Game: result.Game, Match: result.Match, ArenaID: result.ArenaID, Mode: result.Mode, StartedAt: result.StartedAt, OverAt: result.OverAt, Reason: result.Reason,
			Questions: result.Questions, Counts: result.CountsForLeaderboards, Winner: result.Winner, Players: len(result.Standings), Standings: []protocol.OverStanding{},
		}
		for _, standing := range firstEntries(result.Standings, limit) {
			data.Standings = append(data.Standings, standing.View())
		}
		for _, team := range firstEntries(result.Teams, limit) {
			data.Teams = append(data.Teams, protocol.TeamStanding{Rank: team.Rank, ID: team.ID, Score: team.Score})
		}
		return data
	}
}

func firstEntries[E any](list []E, limit int) []E { return list[:min(limit, len(list))] }
