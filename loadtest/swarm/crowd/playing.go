package crowd

import (
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
	"laststand/loadtest/swarm/tally"
	"laststand/loadtest/swarm/truth"
)

// push takes a numbered push of the match.
func (t *part) push(h player.Heard) error {
	if t.match == nil {
		return t.found(h)
	}
	t.since = h.Came
	if h.Match != t.match.ID {
		return fmt.Errorf("%w: in %s came %s", player.ErrFalse, t.match.ID, h.Raw)
	}
	if err := t.match.Push(h.Type, h.Data, h.Raw); err != nil || t.host != nil {
		return err
	}
	switch h.Type {
	case protocol.TypeQuestion:
		t.question(h)
	case protocol.TypeQuestionClosed:
		t.answer, t.due = nil, time.Time{}
		if q, closed := t.match.Newest(); closed != nil {
			t.c.book.Learn(q, *closed)
		}
	case protocol.TypeMatchOver:
		t.over, t.overAt = h.Match, h.Came
		t.told, t.rated = h.Match, t.match.Rated()
	}
	return nil
}

// found begins a match.
func (t *part) found(h player.Heard) error {
	if h.Type != protocol.TypeMatchFound {
		return fmt.Errorf("%w: a match begins with %s", player.ErrFalse, h.Raw)
	}
	var found protocol.MatchFound
	if err := json.Unmarshal(h.Data, &found); err != nil {
		return err
	}
	if t.round == nil {
		t.c.tally.Add(tally.Found, h.Came.Sub(t.since))
	}
	t.match, t.since = truth.Begin(h.Match, t.ID, h.Raw, found), h.Came
	if t.plays() {
		t.c.playing.Add(1)
	}
	return nil
}

// question thinks of an answer, and of when to send it.
func (t *part) question(h player.Heard) {
	q, _ := t.match.Newest()
	if late := h.Came.UnixMilli() - q.OpensAt; h.Came.UnixMilli() <= q.ClosesAt {
		t.c.tally.Add(tally.Question, time.Duration(late)*time.Millisecond)
	}
	if t.match.Out() && t.dice.IntN(20) > 0 { // some try nevertheless
		return
	}
	t.answer = &try{Answer: protocol.Answer{Match: h.Match, Question: &q.Question, Given: t.c.book.Answer(t.dice, q)}}
	t.due = h.Came.Add(1)
	if t.c.Think > 0 {
		t.due = h.Came.Add(time.Duration(t.dice.Int64N(int64(t.c.Think))))
	}
}

// own takes what the player alone is told.
func (t *part) own(h player.Heard) error {
	var o protocol.Own
	if err := json.Unmarshal(h.Data, &o); err != nil || t.match == nil || t.match.ID != o.Match {
		return err
	}
	return t.match.Own(o)
}

// answered takes the reply to an answer. One accepted answer in 50 is followed
// by another one, which must not be.
func (t *part) answered(h player.Heard) error {
	a, ok := h.To.Data.(try)
	var reply protocol.Answered
	if err := json.Unmarshal(h.Data, &reply); err != nil || !ok || t.match == nil {
		return fmt.Errorf("%w: %s was answered with %s (%w)", player.ErrFalse, h.To.Kind, h.Raw, err)
	}
	if err := t.match.Answered(a.Answer, reply, a.Second); err != nil {
		return err
	}
	t.c.tally.Count("answer accepted", 1)
	if h.To.Sent == 1 {
		t.c.tally.Add(tally.Answer, h.Came.Sub(a.at))
	}
	if q, closed := t.match.Newest(); closed == nil && q.Question == reply.Question && t.dice.IntN(50) == 0 {
		a.Given, a.Second = another(q, a.Given), true
		t.answer, t.due = &a, time.Now()
	}
	return nil
}

// another is an answer to a question that differs from one.
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
