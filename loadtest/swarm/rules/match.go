// Package rules checks what players receive in a load test against the wire contract.
// It computes answers, points and standings itself, and it compares the pushes of all
// players of a match. It keeps one match per player in memory and does no input or
// output. Start reading at Match.
package rules

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

// Match is one match as one of its players sees it, from match.found to its end. It is not safe for concurrent use. Errors wrap player.ErrFalse.
type Match struct {
	ID     string
	player string
	found  protocol.MatchFound
	rounds []*round
	over   *protocol.MatchOver
	pushes pushDigest
}

// round is a question, and what became of the player's answer.
type round struct {
	asked     protocol.Question
	closesAt  int64           // with the time that was given back
	given     json.RawMessage // as results show it; nil: not answered
	reply     *protocol.Answered
	isRefused bool // it was refused, for the question was closed or the player out
	isUnsure  bool // it was refused for now, and may count all the same
	closed    *protocol.QuestionClosed
	results   []protocol.QuestionResult // of this player, to all and to them alone
}

// NewMatch begins a match of a player by its first push.
func NewMatch(id, playerID string, raw []byte, found protocol.MatchFound) *Match {
	m := &Match{ID: id, player: playerID, found: found}
	m.pushes.add(raw)
	return m
}

// Mode is what is played.
func (m *Match) Mode() string { return m.found.Mode }

// Push takes a numbered push after the first, as it came.
func (m *Match) Push(kind string, data json.RawMessage, raw []byte) error {
	m.pushes.add(raw)
	if m.over != nil {
		return m.violation("after its end came %s", raw)
	}
	var err error
	switch kind {
	case protocol.TypeQuestion:
		err = m.recordQuestion(data)
	case protocol.TypeQuestionExtended:
		var e protocol.QuestionExtended
		if err = json.Unmarshal(data, &e); err == nil && m.openRound() != nil {
			m.openRound().closesAt = e.ClosesAt
		}
	case protocol.TypeQuestionClosed:
		err = m.recordClosed(data)
	case protocol.TypeMatchOver:
		err = json.Unmarshal(data, &m.over)
	}
	return err
}

func (m *Match) recordQuestion(data json.RawMessage) error {
	r := new(round)
	if err := json.Unmarshal(data, &r.asked); err != nil {
		return err
	}
	if m.openRound() != nil || r.asked.Question != len(m.rounds) {
		return m.violation("question %d came where %d was due", r.asked.Question, len(m.rounds))
	}
	r.closesAt = r.asked.ClosesAt
	m.rounds = append(m.rounds, r)
	return nil
}

func (m *Match) recordClosed(data json.RawMessage) error {
	var c protocol.QuestionClosed
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	r := m.openRound()
	if r == nil || c.Question != r.asked.Question {
		return m.violation("question %d closed, which is not open: %s", c.Question, data)
	}
	r.closed = &c
	for _, one := range c.Results {
		if one.Player == m.player {
			r.results = append(r.results, one)
		}
	}
	c.Results = nil // the others' are theirs to check
	return nil
}

// openRound is the open question, nil for none.
func (m *Match) openRound() *round {
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

// RecordOwn takes what the player alone is told.
func (m *Match) RecordOwn(o protocol.Own) error {
	r := m.round(o.Question)
	if r == nil {
		return m.violation("question %d was not asked, and its player is told %+v", o.Question, o)
	}
	r.results = append(r.results, protocol.QuestionResult{
		Player: m.player, Given: o.Given, Correct: o.Correct, ElapsedMS: o.ElapsedMS, Points: o.Points, Score: o.Score, Out: o.Out,
	})
	return nil
}

// IsOut says whether the player was told to be out.
func (m *Match) IsOut() bool {
	return slices.ContainsFunc(m.rounds, func(r *round) bool {
		return slices.ContainsFunc(r.results, func(one protocol.QuestionResult) bool { return one.Out })
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

// IsRated says whether the match is over and has given its player a rating, of which
// `settled` has to tell the final one.
func (m *Match) IsRated() bool {
	return m.over != nil && slices.ContainsFunc(m.over.Standings, func(s protocol.OverStanding) bool {
		return s.Player == m.player && s.Rating != nil
	})
}

func (m *Match) violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s (%s) of %s: %s", player.ErrContract, m.ID, m.found.Mode, m.player, fmt.Sprintf(format, args...))
}
