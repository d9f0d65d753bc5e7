package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"laststand/internal/answers"
	"laststand/internal/protocol"
	"laststand/internal/redisx"
	"laststand/internal/taskqueue"
)

// The kinds of messages that the inboxes of nodes get, besides those of matches.
const (
	kindTasksAdded      = "woken"     // there are new tasks; the payload has their kinds, separated by spaces
	kindSessionReplaced = "replaced"  // the payload is a sessionReplaced
	kindMatchCorrected  = "corrected" // the payload is a matchCorrected
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
	handleMessage(n, kindSessionReplaced, func(m sessionReplaced) { n.sessions.CloseReplaced(m.Game, m.Player, m.Number) })
	handleMessage(n, kindMatchCorrected, corrections{n}.notify)
	if n.redis.Kind != redisx.KindEmbedded {
		connectTaskNotifier(n.taskNotifier, n.inbox, n.aliveNodes)
	}
}

// handleMessage registers the handler of messages whose payload is a T in JSON.
func handleMessage[T any](n *node, kind string, handle func(T)) {
	n.inbox.Handle(kind, func(payload []byte) {
		var message T
		if err := json.Unmarshal(payload, &message); err != nil {
			n.log.Warn("message from another node ignored; it does not parse", "error", err)
			return
		}
		handle(message)
	})
}

func sendMessage(ctx context.Context, inbox *redisx.Inbox, nodes []string, kind string, message any) {
	payload, _ := json.Marshal(message) // plain fields always encode
	inbox.Send(ctx, nodes, kind, payload)
}

func (n *node) aliveNodes() []string { return n.reporting.Alive() }

// connectTaskNotifier makes a notifier send notifications to the inboxes of the nodes that alive
// returns, and receive theirs. A node that may have missed messages must call Receive without
// kinds, which wakes the workers of all kinds. Call it before Run.
func connectTaskNotifier(notifier *taskqueue.Notifier, inbox *redisx.Inbox, alive func() []string) {
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

func (n *node) sendSessionReplaced(ctx context.Context, node, game, player string, number int64) {
	sendMessage(ctx, n.inbox, []string{node}, kindSessionReplaced, sessionReplaced{game, player, number})
}

// voidTimeout limits MakeVoid. A match of 10,000 players takes some seconds.
const voidTimeout = time.Minute

// MakeVoid changes the ledger, tells the players, and then changes the leaderboards. If it
// fails after the first of these, leaderboards follow by themselves. It does not stop when ctx
// ends, so that a large match can become void although the client is impatient.
func (c corrections) MakeVoid(ctx context.Context, v answers.Void) (isNew bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), voidTimeout)
	defer cancel()
	if isNew, err = c.ledger.Corrections.MakeVoid(ctx, v); err != nil {
		return false, err
	}
	if isNew {
		c.announce(ctx, matchCorrected{v.Game, v.Match, v.Question})
	}
	return isNew, c.leaderboards.Apply(ctx, v.Game)
}

// matchCorrected is the message to other nodes that a match was counted again without a question.
type matchCorrected struct {
	Game     string `json:"game"`
	Match    string `json:"match"`
	Question int    `json:"question"`
}

// announce tells the players of a match at all nodes that it was counted again. Nodes send the
// notice to each other; each node pushes to the players who are connected to it.
func (c corrections) announce(ctx context.Context, corrected matchCorrected) {
	sendMessage(ctx, c.inbox, c.aliveNodes(), kindMatchCorrected, corrected)
	c.notify(corrected)
}

// notify notifies the players at this node. It does not block.
func (c corrections) notify(corrected matchCorrected) {
	c.wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), pushCorrectedTimeout)
		defer cancel()
		if err := c.push(ctx, corrected); err != nil {
			c.log.Warn("pushes of a corrected match failed", "match", corrected.Match, "error", err)
		}
	})
}

const (
	pushCorrectedTimeout = 10 * time.Second
	correctedPageSize    = 500 // standings per read
)

// push pushes their new scores and ranks to the players of a match at this node.
func (c corrections) push(ctx context.Context, corrected matchCorrected) error {
	m, err := c.ledger.History.Match(ctx, corrected.Game, corrected.Match)
	for from := 0; from < m.Players && err == nil; from += correctedPageSize {
		var page []protocol.OverStanding
		page, err = c.ledger.History.Standings(ctx, m, from, from+correctedPageSize)
		for _, s := range page {
			if session, isHere := c.presence.Find(corrected.Game, s.Player); isHere {
				session.Push("", protocol.EncodePush(protocol.TypeMatchCorrected, protocol.MatchCorrected{
					Match: corrected.Match, Question: corrected.Question, Score: s.Score, Rank: s.Rank,
				}))
			}
		}
	}
	return err
}
