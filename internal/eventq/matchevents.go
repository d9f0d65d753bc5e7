package eventq

import (
	"encoding/json"

	"laststand/internal/match"
)

// OnMatchLifecycle reports the start or end of a match for its players at this
// node. All nodes that report it use the same id.
func (p *Players) OnMatchLifecycle(t match.LifecycleEvent) {
	kind, prefix := MatchStart, "start"
	if t.Ended {
		kind, prefix = MatchEnd, "end"
	}
	if !p.games[t.Game].reports(kind) {
		return
	}
	data, _ := json.Marshal(matchData{t.Match, string(t.Mode), string(t.Reason)}) // plain texts always encode
	for _, player := range t.Players {
		if current := p.sessionOf(t.Game, player); current != nil {
			b := current.behaviour(kind, eventID(prefix, t.Match, player), t.OccurredAt)
			b.Data = data
			p.offer(t.Game, b)
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
