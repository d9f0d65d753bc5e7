package playerevents

import (
	"encoding/json"

	"laststand/internal/eventq"
	"laststand/internal/match"
)

// OnMatchLifecycle reports the start or end of a match for its players at this
// node. All nodes that report it use the same id.
func (s *Service) OnMatchLifecycle(t match.LifecycleEvent) {
	kind, prefix := eventq.MatchStart, "start"
	if t.Ended {
		kind, prefix = eventq.MatchEnd, "end"
	}
	if !s.doesReport(t.Game, kind) {
		return
	}
	data, _ := json.Marshal(matchData{t.Match, string(t.Mode), string(t.Reason)}) // plain texts always encode
	for _, player := range t.Players {
		if current := s.sessionOf(t.Game, player); current != nil {
			b := current.behaviour(kind, eventID(prefix, t.Match, player), t.OccurredAt)
			b.Data = data
			s.Offer(t.Game, b)
		}
	}
}

type matchData struct {
	Match  string `json:"match"`
	Mode   string `json:"mode"`
	Reason string `json:"reason,omitempty"` // of the end
}

// maxEventID bounds an id, in bytes.
const maxEventID = 64

// eventID returns the same id at all nodes, for the start or the end of a player's
// match.
func eventID(prefix, match, player string) string {
	if id := prefix + ":" + match + ":" + player; len(id) <= maxEventID {
		return id
	}
	return prefix + ":" + digest("laststand turn", match, player)
}
