package main

import (
	"context"
	"encoding/json"
	"strings"

	"laststand/internal/redisx"
	"laststand/internal/taskqueue"
)

// The kinds of messages that the inboxes of nodes get, besides those of matches.
const (
	kindRevocations     = "revocations" // bans, revocations or keys in the ledger have changed
	kindTasksAdded      = "woken"       // there are new tasks; the payload has their kinds, separated by spaces
	kindSessionReplaced = "replaced"    // the payload is a sessionReplaced
	kindMatchCorrected  = "corrected"   // the payload is a matchCorrected
)

// handleMessages registers the handlers of messages that other nodes send to the inbox of this
// node. With an embedded Redis there are no other nodes to notify of tasks.
func (n *node) handleMessages() {
	for kind, f := range n.engine.Handlers() {
		n.inbox.Handle(kind, f)
	}
	n.inbox.HandleMissed(func() {
		n.engine.FillGapsNow()
		n.taskNotifier.Receive(nil)
	})
	n.inbox.Handle(kindRevocations, func([]byte) { n.identity.Revocations.Wake() })
	n.inbox.Handle(kindSessionReplaced, n.closeReplacedSession)
	n.inbox.Handle(kindMatchCorrected, newCorrectionNotices(n).receive)
	if n.redis.Kind != redisx.KindEmbedded {
		connectTaskNotifier(n.taskNotifier, n.inbox, n.aliveNodes)
	}
}

// aliveNodes returns the ids of the nodes that are alive.
func (n *node) aliveNodes() []string {
	_, alive := n.reporting.Duty()
	return alive
}

// connectTaskNotifier makes a notifier send notifications to the inboxes of the nodes that alive
// returns, and receive theirs. A node that may have missed messages must call Receive without
// kinds, which wakes the workers of all kinds. Call it before Run.
func connectTaskNotifier(notifier *taskqueue.CrossNodeNotifier, inbox *redisx.Inbox, alive func() []string) {
	notifier.Publish = func(ctx context.Context, kinds []string) error {
		inbox.Send(ctx, alive(), kindTasksAdded, []byte(strings.Join(kinds, " ")))
		return nil
	}
	inbox.Handle(kindTasksAdded, func(payload []byte) { notifier.Receive(strings.Fields(string(payload))) })
}

// sessionReplaced is the message from one node to another that a player now has a newer session.
// The receiving node closes its session of the player. Number is the number of the newer session.
type sessionReplaced struct {
	Game   string `json:"game"`
	Player string `json:"player"`
	Number int64  `json:"number"`
}

// sendSessionReplaced sends the message to the node with the earlier session.
func (n *node) sendSessionReplaced(ctx context.Context, node, game, player string, number int64) {
	payload, _ := json.Marshal(sessionReplaced{game, player, number}) // plain fields always encode
	n.inbox.Send(ctx, []string{node}, kindSessionReplaced, payload)
}

func (n *node) closeReplacedSession(payload []byte) {
	var r sessionReplaced
	if err := json.Unmarshal(payload, &r); err != nil {
		n.log.Warn("message from another node ignored; it does not parse", "error", err)
		return
	}
	n.sessions.CloseReplaced(r.Game, r.Player, r.Number)
}
