package webhook

import (
	"fmt"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// correctionData is the data of match.corrected. It has no standings: the match has the new
// ones, for all its players.
type correctionData struct {
	Game      string     `json:"game"`
	Match     string     `json:"match"`
	ArenaID   string     `json:"arena_id,omitempty"`
	Mode      match.Mode `json:"mode"`
	OverAt    int64      `json:"over_at"`
	Question  int        `json:"question"`
	Voided    []int      `json:"voided"`
	Questions int        `json:"questions"`
	Counts    bool       `json:"counts"`
}

// TasksForCorrection returns the deliveries of a correction that is being written to the
// ledger. It makes a question of a match void; m is the match after it. at is when, in epoch ms.
func (registry *Registry) TasksForCorrection(m match.Summary, question int, at int64) []taskqueue.NewTask {
	data := correctionData{m.Game, m.Match, m.ArenaID, m.Mode, m.OverAt, question, m.Voided, m.Questions, m.CountsForLeaderboards}
	return registry.deliveries(event{
		eventType: MatchCorrected, game: m.Game, subject: fmt.Sprint(m.Match, "\x00", question), occurredAt: at, data: func(int) any { return data },
	})
}
