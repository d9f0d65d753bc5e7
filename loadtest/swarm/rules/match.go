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
	player "laststand/loadtest/client"
)

// Sums are a player's totals over the matches that count, as a board shows them.
type Sums struct {
	Score    int64 `json:"score"`
	TimeMS   int64 `json:"time_ms"`
	Matches  int   `json:"matches"`
	Asked    int   `json:"asked"`
	Answered int   `json:"answered"`
	Correct  int   `json:"correct"`
}

// Add adds a match, or other sums.
func (s *Sums) Add(o Sums) {
	s.Score += o.Score
	s.TimeMS += o.TimeMS
	s.Matches += o.Matches
	s.Asked += o.Asked
	s.Answered += o.Answered
	s.Correct += o.Correct
}

// Match is one match as one of its players sees it, from match.found to its end. It is not
// safe for concurrent use. Errors wrap player.ErrFalse.
type Match struct {
	ID     string
	player string
	found  protocol.MatchFound
	rounds []*round
	over   *protocol.MatchOver
	pushes pushDigest
}

// round is a question and the result of the player's answer.
type round struct {
	asked     protocol.Question
	closesAt  int64           // includes the extension of the question
	given     json.RawMessage // as results show it; nil: no answer
	reply     *protocol.Answered
	isRefused bool // refused because the question was closed or the player was out
	isUnsure  bool // refused for now; the answer may count nevertheless
	closed    *protocol.QuestionClosed
	results   []protocol.QuestionResult // of this player, from pushes to all and to the player alone
}

// NewMatch starts a player's match from its first push.
func NewMatch(id, playerID string, raw []byte, found protocol.MatchFound) *Match {
	m := &Match{ID: id, player: playerID, found: found}
	m.pushes.add(raw)
	return m
}

// Mode returns the mode of the match.
func (m *Match) Mode() string { return m.found.Mode }

// Push handles a numbered push after the first. raw is the push as received.
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
	c.Results = nil // other players check their own results
	return nil
}

// openRound returns the open question, or nil.
func (m *Match) openRound() *round {
	if n := len(m.rounds); n > 0 && m.rounds[n-1].closed == nil {
		return m.rounds[n-1]
	}
	return nil
}

// Newest returns the newest question and how it was closed: nil while it is open.
func (m *Match) Newest() (protocol.Question, *protocol.QuestionClosed) {
	r := m.rounds[len(m.rounds)-1]
	return r.asked, r.closed
}

// RecordOwn records a message that only this player receives.
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

// IsOut reports whether the server has told the player that it is out.
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

// Over returns the end of the match, or nil before it.
func (m *Match) Over() *protocol.MatchOver { return m.over }

// IsRated reports whether the match is over and has rated its player. If so, `settled` must
// contain the final rating.
func (m *Match) IsRated() bool {
	return m.over != nil && slices.ContainsFunc(m.over.Standings, func(s protocol.OverStanding) bool {
		return s.Player == m.player && s.Rating != nil
	})
}

func (m *Match) violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s (%s) of %s: %s", player.ErrContract, m.ID, m.found.Mode, m.player, fmt.Sprintf(format, args...))
}
