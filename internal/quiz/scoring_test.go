package quiz_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/quiz"
)

func TestPointsDecreaseWithTime(t *testing.T) {
	t.Parallel()
	question := validQuestion(quiz.Single)
	drawn := quiz.DrawnQuestion{Question: &question}
	right := fmt.Sprint("c:", question.RightIndexes[0])
	for _, test := range []struct{ limit, elapsed, want int64 }{
		{15000, 0, 200},
		{15000, -20, 200},
		{15000, 1, 199},
		{15000, 150, 199},
		{15000, 151, 198},
		{15000, 7500, 150},
		{15000, 14999, 100},
		{15000, 15000, 100},
		{15000, 15150, 100},
		{3, 1, 166},
		{1 << 55, 1 << 54, 150},
	} {
		got, isCorrect := quiz.DefaultScoring.Base(drawn, quiz.Answered{Normalized: right, ElapsedMS: test.elapsed, LimitMS: test.limit, Multiplier: 1})
		if got != test.want || !isCorrect {
			t.Errorf("after %d of %d ms: %d, %v, want %d", test.elapsed, test.limit, got, isCorrect, test.want)
		}
		if got, _ := quiz.BuzzerScoring.Base(drawn, quiz.Answered{Normalized: right, ElapsedMS: test.elapsed, LimitMS: test.limit, Multiplier: 1}); got != 100 {
			t.Errorf("buzzer after %d of %d ms: %d", test.elapsed, test.limit, got)
		}
	}
}

// A player's answers to several questions score as the wire contract says.
func TestScoringEqualsTheContract(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scoring := quiz.Scoring{
			Preset: rapid.SampledFrom([]string{quiz.Speed, quiz.Accuracy}).Draw(t, "preset"), Points: rapid.Int64Range(1, 1000).Draw(t, "points"),
			Penalty: rapid.Int64Range(0, 1000).Draw(t, "penalty"), Streak: rapid.Int64Range(0, 200).Draw(t, "streak"), Partial: rapid.Bool().Draw(t, "partial"),
		}
		current, wantScore, rightInRow := quiz.PlayerScore{}, int64(0), int64(0)
		hasStreak := false
		for i := range rapid.IntRange(1, 12).Draw(t, "questions") {
			right := rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 1, 8, rapid.ID).Draw(t, "right")
			chosen := slices.Sorted(slices.Values(rapid.OneOf(rapid.Just(right), rapid.SliceOfNDistinct(rapid.IntRange(0, 7), 1, 8, rapid.ID)).Draw(t, "chosen")))
			question := quiz.DrawnQuestion{Question: &quiz.Question{Kind: quiz.Multiple, Choices: strings.Split("abcdefgh", ""), RightIndexes: right}}
			answer := quiz.Answered{
				Normalized: "m:" + strings.Trim(strings.ReplaceAll(fmt.Sprint(chosen), " ", ","), "[]"), LimitMS: rapid.Int64Range(1000, 600_000).Draw(t, "limit"),
				Multiplier: rapid.Int64Range(0, 2).Draw(t, "multiplier"),
			}
			answer.ElapsedMS = rapid.Int64Range(0, answer.LimitMS+150).Draw(t, "elapsed")
			if rapid.IntRange(0, 4).Draw(t, "silent") == 0 {
				hasStreak, rightInRow = false, 0
				continue
			}
			base, isCorrect := scoring.Base(question, answer)
			var points int64
			current, points = scoring.Add(current, base, isCorrect, hasStreak, answer.Multiplier)
			hasStreak = isCorrect

			want := contractPoints(scoring, right, chosen, answer, &rightInRow)
			before := wantScore
			wantScore = max(0, wantScore+want)
			if current.Score != wantScore || points != wantScore-before || points > scoring.MaxPoints(answer.Multiplier) {
				t.Fatalf("answer %d: %d points, score %d; want score %d after %d", i, points, current.Score, wantScore, before)
			}
		}
	})
}

// contractPoints computes the points of an answer by section 7 of the wire contract,
// before the score is kept at 0 or more.
func contractPoints(s quiz.Scoring, right, chosen []int, answer quiz.Answered, rightInRow *int64) int64 {
	points := big.NewInt(s.Points)
	floor := func(a, b *big.Int) *big.Int { return new(big.Int).Div(a, b) }
	if s.Preset == "speed" {
		left := big.NewInt(answer.LimitMS - min(answer.ElapsedMS, answer.LimitMS))
		points.Add(points, floor(left.Mul(left, big.NewInt(s.Points)), big.NewInt(answer.LimitMS)))
	}
	both := int64(0)
	for _, choice := range chosen {
		if slices.Contains(right, choice) {
			both++
		}
	}
	wrong := int64(len(chosen)) - both
	result := points.Int64()
	switch {
	case both == int64(len(right)) && wrong == 0:
		*rightInRow++
		result += s.Streak * min(*rightInRow-1, 5)
		return result * answer.Multiplier
	case s.Partial:
		points.Mul(points, big.NewInt(max(0, both-wrong)))
		result = floor(points, big.NewInt(int64(len(right)))).Int64()
	default:
		result = 0
	}
	*rightInRow = 0
	if result == 0 {
		result = -s.Penalty
	}
	return result * answer.Multiplier
}
