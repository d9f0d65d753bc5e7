package match

import "laststand/internal/protocol"

// Summary is what the ledger stores of a settled match in addition to the
// players' standings, which are rows of their own. It contains no nicknames; a
// reader joins the current ones.
type Summary struct {
	Match                 string            `json:"-"`
	Game                  string            `json:"-"`
	ArenaID               string            `json:"arena_id,omitempty"`
	Mode                  Mode              `json:"mode"`
	StartedAt             int64             `json:"started_at"` // cluster time, epoch ms
	OverAt                int64             `json:"over_at"`    // cluster time, epoch ms
	Reason                Reason            `json:"reason"`
	Questions             int               `json:"questions"`      // closed and not void
	CountsForLeaderboards bool              `json:"counts"`         // for the leaderboards and the players' totals
	Players               int               `json:"players"`        // number of standings, including those of bots
	Bots                  []IndexedStanding `json:"bots,omitempty"` // those of bots, which have no row
	Teams                 []TeamResult      `json:"teams,omitempty"`
	Firsts                []First           `json:"firsts,omitempty"` // of a buzzer match
	Rules                 *Rules            `json:"rules,omitempty"`  // nil: stored by a program before this field
	Voided                []int             `json:"voided,omitempty"` // questions that were made void after the match, sorted
}

// IndexedStanding is a standing and its index in the list of all standings,
// from 0.
type IndexedStanding struct {
	Index int `json:"index"`
	protocol.OverStanding
}

// Summary returns what the ledger stores of a result in addition to its
// players' standings.
func (r Result) Summary() Summary {
	summary := Summary{
		Match: r.Match, Game: r.Game, ArenaID: r.ArenaID, Mode: r.Mode, StartedAt: r.StartedAt, OverAt: r.OverAt,
		Reason: r.Reason, Questions: r.Questions, CountsForLeaderboards: r.CountsForLeaderboards, Players: len(r.Standings), Teams: r.Teams, Rules: r.Rules,
	}
	for i, standing := range r.Standings {
		if standing.Bot {
			summary.Bots = append(summary.Bots, IndexedStanding{i, standing.View()})
		}
	}
	for _, first := range r.Firsts {
		first.Nickname = ""
		summary.Firsts = append(summary.Firsts, first)
	}
	return summary
}
