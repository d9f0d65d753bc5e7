package playerevents

import (
	"encoding/json"

	"laststand/internal/eventq"
	"laststand/internal/match"
)

// Turned reports that a match has begun, or is over, for its players who are
// here. All nodes that see so give it the same id.
func (s *Service) Turned(t match.LifecycleEvent) {
	kind, what := eventq.MatchStart, "start"
	if t.Ended {
		kind, what = eventq.MatchEnd, "end"
	}
	if !s.reports[t.Game][kind] {
		return
	}
	data, _ := json.Marshal(turnData{t.Match, string(t.Mode), string(t.Reason)}) // plain texts always encode
	for _, player := range t.Players {
		if one := s.current(t.Game, player); one != nil {
			b := one.does(kind, turnID(what, t.Match, player), t.At)
			b.Data = data
			s.Offer(t.Game, b)
		}
	}
}

type turnData struct {
	Match  string `json:"match"`
	Mode   string `json:"mode"`
	Reason string `json:"reason,omitempty"` // of the end
}

// maxTurnID bounds an id, in bytes.
const maxTurnID = 64

// turnID is the same at all nodes, for the start or the end of a player's match.
func turnID(what, match, player string) string {
	if id := what + ":" + match + ":" + player; len(id) <= maxTurnID {
		return id
	}
	return what + ":" + digest("laststand turn", match, player)
}
