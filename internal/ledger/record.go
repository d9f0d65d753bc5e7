package ledger

import (
	"encoding/json"

	"laststand/internal/match"
)

// readRecord reads the stored record of a match without its seats. An older program
// stored the whole result. Its standings become Recorded, because its seats do not have
// them. The result has no nicknames of players.
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
		r.Recorded = append(r.Recorded, match.IndexedStanding{Index: i, OverStanding: s.View()})
	}
	r.Players = max(r.Players, len(r.Standings))
	for i := range r.Firsts {
		r.Firsts[i].Nickname = ""
	}
	return r.Summary, nil
}
