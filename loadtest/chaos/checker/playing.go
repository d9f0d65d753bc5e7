package checker

import (
	"encoding/json"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// earlyMS is how far the clocks of two nodes may differ.
const earlyMS = 100

// push handles a numbered push of the match.
func (c *contest) push(h player.Received) error {
	if c.record == nil {
		c.record = c.o.records.of(h.Match)
		c.share = c.record.share(c.ID)
	}
	if err := c.record.see(h); err != nil {
		return err
	}
	c.pushed = h.ReceivedAt
	switch h.Type {
	case protocol.TypeQuestion:
		return c.question(h)
	case protocol.TypeQuestionClosed:
		return c.closed(h)
	case protocol.TypeMatchOver:
		c.over, c.share.over, c.answer = true, true, nil
		c.played[h.Match] = true
	}
	return nil
}

// question chooses an answer, and when to send it.
func (c *contest) question(h player.Received) error {
	var q protocol.Question
	if err := json.Unmarshal(h.Data, &q); err != nil {
		return err
	}
	if h.ClusterMS < q.OpensAt-earlyMS {
		return violation("%s: question %d opens at %d and came at %d", h.Match, q.Question, q.OpensAt, h.ClusterMS)
	}
	c.share.asked = q
	c.shown = append(c.shown, arrival{q.OpensAt, h.ReceivedAt, h.ConnectedAt, h.Server})
	if c.dice.IntN(50) == 0 { // a network fails now and then
		c.Disconnect()
	}
	if c.share.out || c.dice.IntN(30) == 0 {
		return nil
	}
	c.answer = &protocol.Answer{Match: h.Match, Question: &q.Question, Given: c.o.solutions.Answer(c.dice, q)}
	think := time.Duration(c.dice.IntN(limitMS/4)) * time.Millisecond
	if c.dice.IntN(30) == 0 { // at the last moment, or just too late
		think = limitMS*time.Millisecond - 50*time.Millisecond + time.Duration(c.dice.IntN(100))*time.Millisecond
	}
	c.due = time.Now().Add(think)
	return nil
}

// closed learns the right answer, and whether the contender is still in the match.
func (c *contest) closed(h player.Received) error {
	var closed protocol.QuestionClosed
	if err := json.Unmarshal(h.Data, &closed); err != nil {
		return err
	}
	c.answer = nil
	c.o.solutions.Learn(c.share.asked, closed)
	for _, r := range closed.Results {
		if r.Player == c.ID {
			c.share.out = c.share.out || r.Out
		}
	}
	return nil
}

// own stores a push that only the contender receives.
func (c *contest) own(h player.Received) error {
	var o protocol.Own
	if err := json.Unmarshal(h.Data, &o); err != nil {
		return err
	}
	if c.share != nil && c.record.id == o.Match {
		c.share.owns[o.Question] = o
		c.share.out = c.share.out || o.Out
	}
	return nil
}

// answered handles the reply to an answer. It sends one in ten answers again.
func (c *contest) answered(h player.Received) error {
	sent, ok := h.Request.Data.(protocol.Answer)
	if !ok || c.share == nil {
		return violation("%s was answered with %s", h.Request.Kind, h.Raw)
	}
	known, err := c.share.accepted(*sent.Question, h.Data)
	if err != nil {
		return err
	}
	if known {
		c.o.counts.repeated.Add(1)
		return nil
	}
	c.o.counts.answers.Add(1)
	if c.dice.IntN(10) == 0 {
		c.Ask(protocol.TypeAnswer, sent)
	}
	return nil
}

// answerRefused handles the refusal of an answer. The refusal is final, or the answer is
// sent again.
func (c *contest) answerRefused(h player.Received, e protocol.Error, patient bool) error {
	sent, ok := h.Request.Data.(protocol.Answer)
	patient = patient || c.seat != nil && c.seat.team != "" && player.IsLockedOut(e)
	switch {
	case !ok || c.share == nil:
		return violation("an answer that was not sent got %s", h.Raw)
	case patient && !c.over:
		c.answer = &sent
		c.due = time.Now().Add(max(time.Duration(e.RetryAfterMS)*time.Millisecond, look))
		return nil
	case patient:
		return nil
	}
	return c.share.refused(*sent.Question, e, h.Raw)
}

// state compares the contender's own answer in the server's state with the server's
// earlier reply.
func (c *contest) state(h player.Received) error {
	var s protocol.MatchState
	if err := json.Unmarshal(h.Data, &s); err != nil {
		return err
	}
	if c.share == nil || s.Question == nil {
		return nil
	}
	return c.share.holds(s)
}
