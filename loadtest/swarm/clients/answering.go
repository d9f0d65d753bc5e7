package clients

import (
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

// handlePush takes a numbered push of the match.
func (t *participation) handlePush(h player.Received) error {
	if t.match == nil {
		return t.handleFound(h)
	}
	t.since = h.ReceivedAt
	if h.Match != t.match.ID {
		return fmt.Errorf("%w: in %s came %s", player.ErrContract, t.match.ID, h.Raw)
	}
	if err := t.match.Push(h.Type, h.Data, h.Raw); err != nil || t.host != nil {
		return err
	}
	switch h.Type {
	case protocol.TypeQuestion:
		t.planAnswer(h)
	case protocol.TypeQuestionClosed:
		t.answer, t.answerAt = nil, time.Time{}
		if q, closed := t.match.Newest(); closed != nil {
			t.c.solutions.Learn(q, *closed)
		}
	case protocol.TypeMatchOver:
		t.over, t.overAt = h.Match, h.ReceivedAt
		t.lastOver, t.isLastRated = h.Match, t.match.IsRated()
	}
	return nil
}

// handleFound starts a match.
func (t *participation) handleFound(h player.Received) error {
	if h.Type != protocol.TypeMatchFound {
		return fmt.Errorf("%w: a match begins with %s", player.ErrContract, h.Raw)
	}
	var found protocol.MatchFound
	if err := json.Unmarshal(h.Data, &found); err != nil {
		return err
	}
	if t.round == nil {
		t.c.stats.Add(stats.Found, h.ReceivedAt.Sub(t.since))
	}
	t.match, t.since = rules.NewMatch(h.Match, t.ID, h.Raw, found), h.ReceivedAt
	if t.isPlaying() {
		t.c.playing.Add(1)
	}
	return nil
}

// planAnswer chooses an answer and the time to send it.
func (t *participation) planAnswer(h player.Received) {
	q, _ := t.match.Newest()
	if late := h.ReceivedAt.UnixMilli() - q.OpensAt; h.ReceivedAt.UnixMilli() <= q.ClosesAt {
		t.c.stats.Add(stats.Question, time.Duration(late)*time.Millisecond)
	}
	if t.match.IsOut() && t.dice.IntN(20) > 0 { // some players try to answer although they are out
		return
	}
	t.answer = &attempt{Answer: protocol.Answer{Match: h.Match, Question: &q.Question, Given: t.c.solutions.Answer(t.dice, q)}}
	t.answerAt = h.ReceivedAt.Add(1)
	if t.c.Think > 0 {
		t.answerAt = h.ReceivedAt.Add(time.Duration(t.dice.Int64N(int64(t.c.Think))))
	}
}

// handleOwn handles a message that only this player receives.
func (t *participation) handleOwn(h player.Received) error {
	var o protocol.Own
	if err := json.Unmarshal(h.Data, &o); err != nil || t.match == nil || t.match.ID != o.Match {
		return err
	}
	return t.match.RecordOwn(o)
}

// handleAnswered handles the reply to an answer. After one accepted answer in 50 the client
// sends a different one, which the server must refuse.
func (t *participation) handleAnswered(h player.Received) error {
	a, ok := h.Request.Data.(attempt)
	var reply protocol.Answered
	if err := json.Unmarshal(h.Data, &reply); err != nil || !ok || t.match == nil {
		return fmt.Errorf("%w: %s was answered with %s (%w)", player.ErrContract, h.Request.Kind, h.Raw, err)
	}
	if err := t.match.RecordReply(a.Answer, reply, a.IsSecond); err != nil {
		return err
	}
	t.c.stats.Count("answer accepted", 1)
	if h.Request.Attempts == 1 {
		t.c.stats.Add(stats.Answer, h.ReceivedAt.Sub(a.sentAt))
	}
	if q, closed := t.match.Newest(); closed == nil && q.Question == reply.Question && t.dice.IntN(50) == 0 {
		a.Given, a.IsSecond = another(q, a.Given), true
		t.answer, t.answerAt = &a, time.Now()
	}
	return nil
}

// another returns an answer to the question that differs from the given one.
func another(q protocol.Question, g protocol.Given) protocol.Given {
	switch {
	case g.Choice != nil:
		next := (*g.Choice + 1) % len(q.Choices)
		return protocol.Given{Choice: &next}
	case len(g.Choices) == 1:
		return protocol.Given{Choices: []int{(g.Choices[0] + 1) % len(q.Choices)}}
	case len(g.Choices) > 1:
		return protocol.Given{Choices: g.Choices[:1]}
	case q.Kind == "number":
		return protocol.Given{Value: json.RawMessage("-77")}
	}
	return protocol.Given{Value: json.RawMessage(`"something else"`)}
}
