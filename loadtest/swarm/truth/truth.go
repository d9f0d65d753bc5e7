// Package truth holds what players are told while a swarm loads a server
// against the wire contract, with what it needs of memory for one match a
// player: answers, points and standings by a reckoning of its own, and whether
// all who were in a match were told the same. It does no input or output.
package truth

import (
	"encoding/json"
	"fmt"
	"slices"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// Sums are what a player has of the matches that count, as a board shows them.
type Sums struct {
	Score    int64 `json:"score"`
	TimeMS   int64 `json:"time_ms"`
	Matches  int   `json:"matches"`
	Asked    int   `json:"asked"`
	Answered int   `json:"answered"`
	Correct  int   `json:"correct"`
}

// Add adds another match, or others.
func (s *Sums) Add(o Sums) {
	s.Score += o.Score
	s.TimeMS += o.TimeMS
	s.Matches += o.Matches
	s.Asked += o.Asked
	s.Answered += o.Answered
	s.Correct += o.Correct
}

// Match is one match as one of its players is told of it, from match.found to
// its end. It is not safe for concurrent use. Errors wrap player.ErrFalse.
type Match struct {
	ID     string
	player string
	found  protocol.MatchFound
	rounds []*round
	over   *protocol.MatchOver
	seen   digest
}

// round is a question, and what became of the player's answer.
type round struct {
	asked    protocol.Question
	closesAt int64           // with the time that was given back
	given    json.RawMessage // as results show it; nil: not answered
	reply    *protocol.Answered
	late     bool // it was refused, for the question was closed or the player out
	unsure   bool // it was refused for now, and may count all the same
	closed   *protocol.QuestionClosed
	told     []protocol.QuestionResult // of this player, to all and to them alone
}

// Begin begins a match of a player by its first push.
func Begin(id, playerID string, raw []byte, found protocol.MatchFound) *Match {
	m := &Match{ID: id, player: playerID, found: found}
	m.seen.add(raw)
	return m
}

// Mode is what is played.
func (m *Match) Mode() string { return m.found.Mode }

// Push takes a numbered push after the first, as it came.
func (m *Match) Push(kind string, data json.RawMessage, raw []byte) error {
	m.seen.add(raw)
	if m.over != nil {
		return m.untrue("after its end came %s", raw)
	}
	var err error
	switch kind {
	case protocol.TypeQuestion:
		err = m.question(data)
	case protocol.TypeQuestionExtended:
		var e protocol.QuestionExtended
		if err = json.Unmarshal(data, &e); err == nil && m.now() != nil {
			m.now().closesAt = e.ClosesAt
		}
	case protocol.TypeQuestionClosed:
		err = m.closed(data)
	case protocol.TypeMatchOver:
		err = json.Unmarshal(data, &m.over)
	}
	return err
}

func (m *Match) question(data json.RawMessage) error {
	r := new(round)
	if err := json.Unmarshal(data, &r.asked); err != nil {
		return err
	}
	if m.now() != nil || r.asked.Question != len(m.rounds) {
		return m.untrue("question %d came where %d was due", r.asked.Question, len(m.rounds))
	}
	r.closesAt = r.asked.ClosesAt
	m.rounds = append(m.rounds, r)
	return nil
}

func (m *Match) closed(data json.RawMessage) error {
	var c protocol.QuestionClosed
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	r := m.now()
	if r == nil || c.Question != r.asked.Question {
		return m.untrue("question %d closed, which is not open: %s", c.Question, data)
	}
	r.closed = &c
	for _, one := range c.Results {
		if one.Player == m.player {
			r.told = append(r.told, one)
		}
	}
	c.Results = nil // the others' are theirs to check
	return nil
}

// now is the open question, nil for none.
func (m *Match) now() *round {
	if n := len(m.rounds); n > 0 && m.rounds[n-1].closed == nil {
		return m.rounds[n-1]
	}
	return nil
}

// Newest is the newest question, and how it was closed: nil while it is open.
func (m *Match) Newest() (protocol.Question, *protocol.QuestionClosed) {
	r := m.rounds[len(m.rounds)-1]
	return r.asked, r.closed
}

// Own takes what the player alone is told.
func (m *Match) Own(o protocol.Own) error {
	r := m.round(o.Question)
	if r == nil {
		return m.untrue("question %d was not asked, and its player is told %+v", o.Question, o)
	}
	r.told = append(r.told, protocol.QuestionResult{
		Player: m.player, Given: o.Given, Correct: o.Correct, ElapsedMS: o.ElapsedMS, Points: o.Points, Score: o.Score, Out: o.Out,
	})
	return nil
}

// Out says whether the player was told to be out.
func (m *Match) Out() bool {
	return slices.ContainsFunc(m.rounds, func(r *round) bool {
		return slices.ContainsFunc(r.told, func(one protocol.QuestionResult) bool { return one.Out })
	})
}

func (m *Match) round(question int) *round {
	if question < 0 || question >= len(m.rounds) {
		return nil
	}
	return m.rounds[question]
}

// Over is the end, nil before it.
func (m *Match) Over() *protocol.MatchOver { return m.over }

// Rated says whether the match is over and has given its player a rating, of which
// `settled` has to tell the final one.
func (m *Match) Rated() bool {
	return m.over != nil && slices.ContainsFunc(m.over.Standings, func(s protocol.OverStanding) bool {
		return s.Player == m.player && s.Rating != nil
	})
}

func (m *Match) untrue(format string, args ...any) error {
	return fmt.Errorf("%w: %s (%s) of %s: %s", player.ErrFalse, m.ID, m.found.Mode, m.player, fmt.Sprintf(format, args...))
}
