package checker

import (
	"bytes"
	"encoding/json"

	"laststand/internal/protocol"
)

// share is one player's part in a match: the answers and the pushes for that player
// alone. Only its contender uses it during the match; the judgement reads it afterwards.
type share struct {
	player  string
	asked   protocol.Question // the newest question
	answers map[int]*given    // by question
	owns    map[int]protocol.Own
	out     bool // eliminated from a survival match
	over    bool // the player has seen the end
}

// given is an answer and its result.
type given struct {
	raw    json.RawMessage   // as results show it
	reply  json.RawMessage   // the reply that accepted it; nil for none
	said   protocol.Answered // the reply
	closed bool              // the answer came too late
}

func (s *share) sent(a *protocol.Answer) {
	if s.answers[*a.Question] == nil {
		raw, _ := json.Marshal(a.Given) // plain fields always encode
		s.answers[*a.Question] = &given{raw: raw}
	}
}

// accepted handles the reply that accepts an answer. If the answer already had a reply,
// the new one must be the same; known is true then.
func (s *share) accepted(question int, reply json.RawMessage) (known bool, err error) {
	g := s.answers[question]
	switch {
	case g == nil:
		return false, violation("question %d was not answered, and accepted: %s", question, reply)
	case g.reply != nil && !bytes.Equal(g.reply, reply):
		return true, violation("the same answer got %s and then %s", g.reply, reply)
	case g.reply != nil:
		return true, nil
	}
	g.reply = reply
	err = json.Unmarshal(reply, &g.said)
	if err == nil && g.said.Question != question {
		err = violation("the answer to question %d got %s", question, reply)
	}
	return false, err
}

// refused handles a refusal. The server answers every request of an eliminated player
// with the same code. So an earlier answer whose reply was lost stays in doubt.
func (s *share) refused(question int, e protocol.Error, raw json.RawMessage) error {
	g := s.answers[question]
	switch {
	case e.Code == protocol.CodeEliminated:
		s.out = true
		return nil
	case e.Code != protocol.CodeQuestionClosed:
		return violation("the answer to question %d got %s", question, raw)
	case g.reply != nil:
		return violation("an accepted answer (%s) got %s", g.reply, raw)
	}
	g.closed = true
	return nil
}

// holds compares a state with the replies to the player's answer to the current
// question. The state may contain an answer whose reply has not come yet.
func (s *share) holds(state protocol.MatchState) error {
	g, said := s.answers[state.Question.Question], state.YourAnswer
	switch {
	case g == nil && said != nil:
		return violation("question %d was not answered, and the state has %s", state.Question.Question, said.Given)
	case g == nil || g.reply == nil:
		return nil
	case said == nil || said.At != g.said.At || said.ElapsedMS != g.said.ElapsedMS || !bytes.Equal(said.Given, g.raw):
		return violation("the answer %s got %s, and the state has %+v", g.raw, g.reply, said)
	}
	return nil
}
