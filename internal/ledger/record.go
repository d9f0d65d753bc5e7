package ledger

import (
	"encoding/json"

	"laststand/internal/match"
)

// readRecord decodes the stored record of a match, without its seats, which are in table
// seats. An older program stored the whole result in the record. Then its standings
// become Recorded, because its seats do not have all values. The returned summary has no
// nicknames of players.
func readRecord(text string) (match.Summary, error) {
	var r struct {
		match.Summary
		Standings []match.Standing `json:"standings"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return match.Summary{}, err
	}
	for i, s := range r.Standings {
		if !s.Bot {
			s.Nickname = ""
		}
		r.StandingsWithoutRow = append(r.StandingsWithoutRow, match.IndexedStanding{Index: i, OverStanding: s.View()})
	}
	r.Players = max(r.Players, len(r.Standings))
	for i := range r.Firsts {
		r.Firsts[i].Nickname = ""
	}
	return r.Summary, nil
}
