package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"laststand/internal/answers"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/redisx"
	"laststand/internal/timer"
)

func (n *node) corrections() corrections {
	return corrections{n.ledger.Corrections, n.leaderboards, newCorrectionNotices(n).announce}
}

// voidTimeout limits MakeVoid. A match of 10,000 players takes some seconds.
const voidTimeout = time.Minute

// MakeVoid changes the ledger, tells the players, and then changes the leaderboards. If it
// fails after the first of these, leaderboards follow by themselves. It does not stop when ctx
// ends, so that a large match can become void although the client is impatient.
func (c corrections) MakeVoid(ctx context.Context, v answers.Void) (isNew bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), voidTimeout)
	defer cancel()
	if isNew, err = c.ledger.MakeVoid(ctx, v); err != nil {
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

// correctionNotices tells the players of a match that it was counted again. Nodes send the notice
// to each other; each node pushes to the players who are connected to it.
type correctionNotices struct {
	inbox      *redisx.Inbox
	aliveNodes func() []string
	history    *ledger.History
	presence   *match.Presence
	wheel      *timer.Wheel
	log        *slog.Logger
}

func newCorrectionNotices(n *node) correctionNotices {
	return correctionNotices{n.inbox, n.aliveNodes, n.ledger.History, &n.presence, n.wheel, n.log}
}

// announce tells the players who are connected to any node.
func (c correctionNotices) announce(ctx context.Context, corrected matchCorrected) {
	payload, _ := json.Marshal(corrected) // plain fields always encode
	c.inbox.Send(ctx, c.aliveNodes(), kindMatchCorrected, payload)
	c.receive(payload)
}

// receive tells the players at this node. It does not block.
func (c correctionNotices) receive(payload []byte) {
	var corrected matchCorrected
	if err := json.Unmarshal(payload, &corrected); err != nil {
		c.log.Warn("message from another node ignored; it does not parse", "error", err)
		return
	}
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
func (c correctionNotices) push(ctx context.Context, corrected matchCorrected) error {
	m, err := c.history.Match(ctx, corrected.Game, corrected.Match)
	for from := 0; from < m.Players && err == nil; from += correctedPageSize {
		var page []protocol.OverStanding
		page, err = c.history.Standings(ctx, m, from, from+correctedPageSize)
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
