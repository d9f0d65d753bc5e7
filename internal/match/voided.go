package match

import "slices"

// The methods below change the summary of a settled match after one of its questions was made
// void. CountedQuestions and what follows from them then leave out that question.

// RevealedQuestions is the number of questions that were revealed, with void ones.
func (m *Summary) RevealedQuestions() int { return m.Questions + len(m.Voided) }

// AddVoid makes a question void.
func (m *Summary) AddVoid(question int) {
	m.Voided = append(slices.Clone(m.Voided), question)
	slices.Sort(m.Voided)
	m.Questions--
}

// LimitMS is the sum of the time limits of the questions that count.
func (m *Summary) LimitMS() int64 { return m.Rules.sumLimits(m.Questions, m.Voided) }

// AddTeamScores changes the scores of teams, by id, and ranks them again.
func (m *Summary) AddTeamScores(changes map[string]int64) {
	m.Teams = slices.Clone(m.Teams)
	for i := range m.Teams {
		m.Teams[i].Score += changes[m.Teams[i].ID]
	}
	rankTeams(m.Teams)
}

// SetRanks sets the ranks of all standings of the match by their scores. The ranks of a
// forfeited duel do not depend on them.
func (m *Summary) SetRanks(all []*Standing) {
	if m.Mode == Duel && m.Reason == ReasonForfeit {
		return
	}
	sorted, byPlayer := make([]Standing, len(all)), make(map[string]int, len(all))
	for i, s := range all {
		sorted[i] = *s
	}
	rank(sorted, m.Mode, "")
	for _, s := range sorted {
		byPlayer[s.Player] = s.Rank
	}
	for _, s := range all {
		s.Rank = byPlayer[s.Player]
	}
}
