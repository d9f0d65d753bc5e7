package answers

import (
	"slices"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// Sums is what the answers of a player are worth.
type Sums struct {
	Score             int64
	Correct, Answered int
	TimeMS            int64 // see match.Standing
}

// Recount computes again what the answers of a player in a settled match are worth, as if the
// match had never asked its void questions. Its argument own has all answers of the player, in
// the order of questions. Recount sets their points, and marks those to void questions as retracted.
// The match must have rules, and must not be a survival match.
func Recount(m *match.Summary, own []Answer) Sums {
	sums, running := Sums{TimeMS: m.LimitMS()}, quiz.PlayerScore{}
	lastRight := -1 // last question that was answered right
	for i := range own {
		a := &own[i]
		a.Retracted = a.Retracted || slices.Contains(m.Voided, a.Question)
		if a.Retracted {
			continue
		}
		limit, multiplier := m.Rules.Limit(a.Question), m.Rules.Multiplier(a.Question)
		base := m.Rules.Scoring.BaseAgain(a.Points, a.Correct, quiz.Answered{ElapsedMS: a.ElapsedMS, LimitMS: limit, Multiplier: multiplier})
		running, a.Points = m.Rules.Scoring.Add(running, base, a.Correct, lastRight == questionBefore(a.Question, m.Voided), multiplier)
		sums.Answered++
		if a.Correct {
			lastRight = a.Question
			sums.Correct++
			sums.TimeMS -= max(limit-a.ElapsedMS, 0)
		}
	}
	sums.Score = running.Score
	return sums
}

// questionBefore returns the last question before another that counts, -1 if there is none.
func questionBefore(question int, voided []int) int {
	for question--; slices.Contains(voided, question); question-- { //nolint:revive // the loop only counts
	}
	return question
}
