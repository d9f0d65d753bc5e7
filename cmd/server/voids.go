package main

import (
	"context"
	"encoding/json"
	"time"

	"laststand/internal/answers"
	"laststand/internal/protocol"
)

func (n *node) corrections() corrections {
	return corrections{n.ledger.Corrections, n.leaderboards, n.announceCorrected}
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

// announceCorrected tells the players who are connected to any node.
func (n *node) announceCorrected(ctx context.Context, corrected matchCorrected) {
	payload, _ := json.Marshal(corrected) // plain fields always encode
	n.inbox.Send(ctx, n.aliveNodes(), kindMatchCorrected, payload)
	n.receiveCorrected(payload)
}

// receiveCorrected tells the players at this node. It does not block.
func (n *node) receiveCorrected(payload []byte) {
	var corrected matchCorrected
	if err := json.Unmarshal(payload, &corrected); err != nil {
		n.log.Warn("message from another node ignored; it does not parse", "error", err)
		return
	}
	n.wheel.After(0, func() {
		ctx, cancel := context.WithTimeout(context.Background(), pushCorrectedTimeout)
		defer cancel()
		if err := n.pushCorrected(ctx, corrected); err != nil {
			n.log.Warn("pushes of a corrected match failed", "match", corrected.Match, "error", err)
		}
	})
}

const (
	pushCorrectedTimeout = 10 * time.Second
	correctedPageSize    = 500 // standings per read
)

// pushCorrected pushes their new scores and ranks to the players of a match at this node.
func (n *node) pushCorrected(ctx context.Context, corrected matchCorrected) error {
	m, err := n.ledger.History.Match(ctx, corrected.Game, corrected.Match)
	for from := 0; from < m.Players && err == nil; from += correctedPageSize {
		var page []protocol.OverStanding
		page, err = n.ledger.History.Standings(ctx, m, from, from+correctedPageSize)
		for _, s := range page {
			if session, isHere := n.presence.Find(corrected.Game, s.Player); isHere {
				session.Push("", protocol.EncodePush(protocol.TypeMatchCorrected, protocol.MatchCorrected{
					Match: corrected.Match, Question: corrected.Question, Score: s.Score, Rank: s.Rank,
				}))
			}
		}
	}
	return err
}
