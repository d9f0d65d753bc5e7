package answers

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// playedQuestion is a question and what a player answered, as the match judged it.
type playedQuestion struct {
	limit, multiplier int64
	isAnswered        bool
	answer            Answer
	base              int64 // points without streak and floor
}

// drawQuestion draws a question with choices, and a player's answer.
func drawQuestion(t *rapid.T, scoring quiz.Scoring, number int) playedQuestion {
	p := playedQuestion{
		limit: rapid.Int64Range(500, 20_000).Draw(t, "limit"), multiplier: rapid.Int64Range(0, 2).Draw(t, "multiplier"), isAnswered: rapid.IntRange(0, 5).Draw(t, "answered") > 0,
	}
	q := quiz.DrawnQuestion{Question: &quiz.Question{Kind: quiz.Multiple, Choices: []string{"a", "b", "c", "d"}, RightIndexes: []int{0, 2}}}
	given := protocol.Given{Choices: rapid.SampledFrom([][]int{{0, 2}, {0, 2}, {0}, {0, 1}, {1}, {0, 1, 2}}).Draw(t, "given")}
	normal, err := q.Normalize(given)
	if err != nil {
		t.Fatal(err)
	}
	elapsed := rapid.Int64Range(0, p.limit+1000).Draw(t, "elapsed")
	p.answer = Answer{Player: 3, Question: number, ElapsedMS: elapsed}
	p.base, p.answer.Correct = scoring.Base(q, quiz.Answered{Normalized: normal, ElapsedMS: elapsed, LimitMS: p.limit, Multiplier: p.multiplier})
	return p
}

// play returns a player's answers and sums in a match that asks only some of the questions.
func play(scoring quiz.Scoring, questions []playedQuestion, isAsked func(int) bool) (all []Answer, sums Sums) {
	streak := int64(0)
	for number, q := range questions {
		if !isAsked(number) {
			continue
		}
		sums.TimeMS += q.limit
		if !q.isAnswered || !q.answer.Correct {
			streak = 0
		}
		if !q.isAnswered {
			continue
		}
		answer, points := q.answer, q.base
		if answer.Correct {
			points += scoring.Streak * min(streak, 5) * q.multiplier
			streak++
			sums.Correct++
			sums.TimeMS -= max(0, q.limit-answer.ElapsedMS)
		}
		if sums.Score+points < 0 {
			points = -sums.Score
		}
		answer.Points = points
		sums.Score += points
		sums.Answered++
		all = append(all, answer)
	}
	return all, sums
}

// However many questions become void one after the other, the answers are worth what they
// would be worth if the match had never asked these questions.
func TestRecountEqualsAMatchWithoutTheVoidQuestions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scoring := quiz.Scoring{
			Preset: rapid.SampledFrom([]string{quiz.Speed, quiz.Accuracy}).Draw(t, "preset"), Points: rapid.Int64Range(1, 200).Draw(t, "points"),
			Penalty: rapid.SampledFrom([]int64{0, 30, 150}).Draw(t, "penalty"), Streak: rapid.Int64Range(0, 20).Draw(t, "streak"), Partial: rapid.Bool().Draw(t, "partial"),
		}
		m := &match.Summary{Mode: match.Race, Rules: &match.Rules{Scoring: &scoring}}
		var questions []playedQuestion
		for number := range rapid.IntRange(1, 9).Draw(t, "questions") {
			q := drawQuestion(t, scoring, number)
			questions = append(questions, q)
			m.Rules.LimitsMS, m.Rules.Multipliers = append(m.Rules.LimitsMS, q.limit), append(m.Rules.Multipliers, q.multiplier)
		}
		m.Questions = len(questions)
		stored, want := play(scoring, questions, func(int) bool { return true })
		if got := Recount(m, stored); got != want {
			t.Fatalf("without a void question: %+v, want %+v", got, want)
		}
		for _, void := range rapid.Permutation(slices.Collect(ints(len(questions)))).Draw(t, "voids") {
			m.AddVoid(void)
			wantAnswers, want := play(scoring, questions, func(number int) bool { return !slices.Contains(m.Voided, number) })
			if got := Recount(m, stored); got != want {
				t.Fatalf("void %v: %+v, want %+v", m.Voided, got, want)
			}
			var counted []Answer
			for _, answer := range stored {
				if answer.Retracted != slices.Contains(m.Voided, answer.Question) {
					t.Errorf("void %v: answer %+v", m.Voided, answer)
				}
				if !answer.Retracted {
					counted = append(counted, answer)
				}
			}
			for i, answer := range counted {
				if answer.Points != wantAnswers[i].Points || answer.Question != wantAnswers[i].Question {
					t.Errorf("void %v: answer %+v, want %+v", m.Voided, answer, wantAnswers[i])
				}
			}
		}
	})
}

func ints(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
