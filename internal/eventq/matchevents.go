package eventq

import (
	"encoding/json"

	"laststand/internal/match"
)

// OnMatchLifecycle reports the start or end of a match for its players at this
// node. All nodes that report it use the same id, which fits whatever the ids of the
// match and the player are.
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
			b := current.behaviour(kind, prefix+":"+digest(t.Match, player), t.OccurredAt)
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
