package checker

import (
	"bytes"
	"encoding/json"

	"laststand/internal/protocol"
)

// share is what one player did in a match, and was told alone. It is its
// contender's while that plays, and is read afterwards.
type share struct {
	player  string
	asked   protocol.Question // the newest
	answers map[int]*given    // by question
	owns    map[int]protocol.Own
	out     bool // of a survival match
	over    bool // has seen the end
}

// given is an answer and what became of it.
type given struct {
	raw    json.RawMessage   // as results show it
	reply  json.RawMessage   // that accepted it; nil for none
	said   protocol.Answered // the reply
	closed bool              // it came too late
}

func (s *share) sent(a *protocol.Answer) {
	if s.answers[*a.Question] == nil {
		raw, _ := json.Marshal(a.Given) // plain fields always encode
		s.answers[*a.Question] = &given{raw: raw}
	}
}

// accepted takes the reply that accepts an answer, and says whether that was
// known: then the reply has to be the same.
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

// refused takes a refusal. Who is out is told so of whatever answer was sent
// before, so that one whose reply was lost stays in doubt.
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

// holds compares a state with what the player has been told of the answer to
// the question that it stands at. An answer whose reply is to come may be there.
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
