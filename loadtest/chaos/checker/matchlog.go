package checker

import (
	"encoding/json"
	"fmt"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// matchLog is a match, read from its numbered pushes.
type matchLog struct {
	found  protocol.MatchFound
	rounds []*round
	over   *protocol.MatchOver
}

// round is one question of a match.
type round struct {
	asked    protocol.Question
	closesAt int64                    // including the time that was given back
	seen     map[string]bool          // players of a duel who have answered
	closed   *protocol.QuestionClosed // nil while it is open
	right    player.Revealed
}

// readMatchLog reads the pushes of a match and checks their order.
func readMatchLog(pushes [][]byte) (*matchLog, error) {
	c := new(matchLog)
	for i, raw := range pushes {
		var push struct {
			Type string
			Data json.RawMessage
		}
		if err := json.Unmarshal(raw, &push); err != nil {
			return nil, err
		}
		if (i == 0) != (push.Type == protocol.TypeMatchFound) || c.over != nil {
			return nil, fmt.Errorf("push %d is out of its place: %s", i+1, raw)
		}
		if err := c.add(push.Type, push.Data); err != nil {
			return nil, fmt.Errorf("push %d: %w: %s", i+1, err, raw)
		}
	}
	if c.over == nil {
		return nil, fmt.Errorf("it was never over; the last of %d pushes: %s", len(pushes), pushes[len(pushes)-1])
	}
	return c, nil
}

func (c *matchLog) add(kind string, data json.RawMessage) error {
	switch kind {
	case protocol.TypeMatchFound:
		return json.Unmarshal(data, &c.found)
	case protocol.TypeQuestion:
		return c.open(data)
	case protocol.TypeMatchOver:
		if r := c.openRound(); r != nil {
			return fmt.Errorf("question %d is open", r.asked.Question)
		}
		return json.Unmarshal(data, &c.over)
	}
	r := c.openRound()
	if r == nil {
		return fmt.Errorf("no question is open")
	}
	return r.add(kind, data)
}

// openRound returns the open question, nil if none is open.
func (c *matchLog) openRound() *round {
	if n := len(c.rounds); n > 0 && c.rounds[n-1].closed == nil {
		return c.rounds[n-1]
	}
	return nil
}

func (c *matchLog) open(data json.RawMessage) error {
	r := &round{seen: make(map[string]bool)}
	if err := json.Unmarshal(data, &r.asked); err != nil {
		return err
	}
	r.closesAt = r.asked.ClosesAt
	switch {
	case c.openRound() != nil, r.asked.Question != len(c.rounds), r.asked.Of != c.found.Questions:
		return fmt.Errorf("question %d of %d is due", len(c.rounds), c.found.Questions)
	case r.asked.ClosesAt-r.asked.OpensAt != limitMS:
		return fmt.Errorf("it is open for %d ms", r.asked.ClosesAt-r.asked.OpensAt)
	}
	c.rounds = append(c.rounds, r)
	return nil
}

// add handles a push of the question while it is open.
func (r *round) add(kind string, data json.RawMessage) error {
	var question int
	switch kind {
	case protocol.TypeQuestionExtended:
		var e protocol.QuestionExtended
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		question, r.closesAt = e.Question, e.ClosesAt
	case protocol.TypeAnswerSeen:
		var s protocol.AnswerSeen
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		if r.seen[s.Player] {
			return fmt.Errorf("it was pushed before")
		}
		question, r.seen[s.Player] = s.Question, true
	case protocol.TypeQuestionClosed:
		if err := json.Unmarshal(data, &r.closed); err != nil {
			return err
		}
		question, r.right = r.closed.Question, player.Reveal(r.closed.Answer)
	default:
		return fmt.Errorf("this is no numbered push")
	}
	if question != r.asked.Question {
		return fmt.Errorf("question %d is open", r.asked.Question)
	}
	return nil
}
