package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"laststand/internal/redisx"
	"laststand/internal/ws"
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

// sendSessionReplaced returns the function that sends the message to the node with the earlier
// session: ws.Config.NotifyReplaced.
func sendSessionReplaced(inbox *redisx.Inbox) func(ctx context.Context, node, game, player string, number int64) {
	return func(ctx context.Context, node, game, player string, number int64) {
		payload, _ := json.Marshal(sessionReplaced{game, player, number}) // plain fields always encode
		inbox.Send(ctx, []string{node}, kindSessionReplaced, payload)
	}
}

// onSessionReplaced returns the handler of the message.
func onSessionReplaced(sessions *ws.Server, log *slog.Logger) func(payload []byte) {
	return func(payload []byte) {
		var r sessionReplaced
		if err := json.Unmarshal(payload, &r); err != nil {
			log.Warn("message from another node ignored; it does not parse", "error", err)
			return
		}
		sessions.CloseReplaced(r.Game, r.Player, r.Number)
	}
}
