package main

import (
	"context"
	"encoding/json"
)

const kindReplaced = "replaced"

// replaced says that a newer session of a player has begun at another node.
type replaced struct {
	Game   string `json:"game"`
	Player string `json:"player"`
	Number int64  `json:"number"`
}

// replace implements ws.Config's Replace.
func (n *node) replace(ctx context.Context, node, game, player string, number int64) {
	payload, _ := json.Marshal(replaced{game, player, number}) // plain fields always encode
	n.inbox.Send(ctx, []string{node}, kindReplaced, payload)
}

func (n *node) onReplaced(payload []byte) {
	var r replaced
	if err := json.Unmarshal(payload, &r); err != nil {
		n.log.Warn("a message of another node is not understood; is it of another version?", "error", err)
		return
	}
	n.sessions.Replaced(r.Game, r.Player, r.Number)
}
