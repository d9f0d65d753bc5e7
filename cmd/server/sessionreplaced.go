package main

import (
	"context"
	"encoding/json"
)

// kindSessionReplaced is the kind of inbox messages with a sessionReplaced.
const kindSessionReplaced = "replaced"

// sessionReplaced is the message from one node to another that a player now has a newer session.
// The receiving node closes its session of the player. Number is the number of the newer session.
type sessionReplaced struct {
	Game   string `json:"game"`
	Player string `json:"player"`
	Number int64  `json:"number"`
}

// sendSessionReplaced sends the message to the node with the earlier session. It implements
// ws.Config.NotifyReplaced.
func (n *node) sendSessionReplaced(ctx context.Context, node, game, player string, number int64) {
	payload, _ := json.Marshal(sessionReplaced{game, player, number}) // plain fields always encode
	n.inbox.Send(ctx, []string{node}, kindSessionReplaced, payload)
}

func (n *node) onSessionReplaced(payload []byte) {
	var r sessionReplaced
	if err := json.Unmarshal(payload, &r); err != nil {
		n.log.Warn("message from another node ignored; it does not parse", "error", err)
		return
	}
	n.sessions.CloseReplaced(r.Game, r.Player, r.Number)
}
