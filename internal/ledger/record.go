package ledger

import (
	"encoding/json"

	"laststand/internal/match"
)

// readRecord reads what the ledger keeps of a match beside its seats. An older
// program wrote the whole result: all its standings are Recorded then, as its seats
// do not tell them. No nickname of a player is left in it.
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
