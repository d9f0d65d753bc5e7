package quiz_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"laststand/internal/quiz"
)

// anyText generates texts of 1 to n characters, including characters that formats must escape.
func anyText(n int) *rapid.Generator[string] {
	awkward := rapid.SampledFrom([]rune(`",;|{}=~#:\<>&%*$/-. ` + "\n\té月Ａß\u2028\ufeff"))
	letters := rapid.SampledFrom([]rune("abcdefghijklmnopqrstuvwxyz0123456789"))
	return rapid.Custom(func(t *rapid.T) string {
		text := rapid.StringOfN(rapid.OneOf(letters, awkward), 0, n-1, -1).Draw(t, "text")
		return text + string(letters.Draw(t, "letter"))
	})
}

// anyQuestion generates valid questions.
func anyQuestion() *rapid.Generator[quiz.Question] {
	kinds := []quiz.Kind{quiz.Single, quiz.Boolean, quiz.Multiple, quiz.Number, quiz.Text}
	return rapid.Custom(func(t *rapid.T) quiz.Question {
		q := quiz.Question{
			ID:          rapid.StringMatching(`[A-Za-z0-9_.:-]{1,64}`).Draw(t, "id"),
			Kind:        rapid.SampledFrom(kinds).Draw(t, "kind"),
			Lang:        rapid.SampledFrom([]string{"en", "en-GB", "zh-CN", "zh-Hant-TW"}).Draw(t, "lang"),
			Category:    anyText(20).Draw(t, "category"),
			Difficulty:  rapid.SampledFrom([]quiz.Difficulty{quiz.Easy, quiz.Medium, quiz.Hard}).Draw(t, "difficulty"),
			Text:        anyText(60).Draw(t, "text"),
			Explanation: anyText(60).Draw(t, "explanation"),
			Source:      anyText(20).Draw(t, "source"),
			Licence:     rapid.SampledFrom([]string{"", "CC0-1.0"}).Draw(t, "licence"),
			Media:       rapid.SampledFrom([]string{"", "https://example.org/?a=1&b=<2>"}).Draw(t, "media"),
		}
		setSolution(t, &q)
		return q
	}).Filter(func(q quiz.Question) bool { return len(q.ValidationErrors()) == 0 })
}

// setSolution draws the choices and the right answer of a question of its kind.
func setSolution(t *rapid.T, q *quiz.Question) {
	limit := map[quiz.Kind]int{quiz.Single: 6, quiz.Boolean: 2, quiz.Multiple: 8}[q.Kind]
	switch q.Kind {
	case quiz.Number:
		q.Target = &quiz.Target{
			Value:     rapid.Float64().Draw(t, "value"),
			Tolerance: rapid.Float64Range(0, 1e300).Draw(t, "tolerance"),
		}
	case quiz.Text:
		q.Accepted = rapid.SliceOfN(anyText(30), 1, 4).Draw(t, "accepted")
	default:
		q.Choices = rapid.SliceOfNDistinct(anyText(20), 2, limit, quiz.Fold).Draw(t, "choices")
		maxRight := 1
		if q.Kind == quiz.Multiple {
			maxRight = len(q.Choices)
		}
		q.RightIndexes = rapid.SliceOfNDistinct(rapid.IntRange(0, len(q.Choices)-1), 1, maxRight, rapid.ID).Draw(t, "right")
	}
}

func questionID(q quiz.Question) string { return q.ID }

// numberedQuestions returns n valid questions with the ids PREFIX0, PREFIX1 …
func numberedQuestions(prefix, lang, category string, difficulty quiz.Difficulty, n int) []quiz.Question {
	var questions []quiz.Question
	for i := range n {
		id := fmt.Sprintf("%s%d", prefix, i)
		questions = append(questions, quiz.Question{
			ID: id, Kind: quiz.Single, Lang: lang, Category: category, Difficulty: difficulty,
			Text: "Question " + id, Choices: strings.Fields("a b c d e f"), RightIndexes: []int{i % 6},
		})
	}
	return questions
}

// newPool returns a pool with one bank per list.
func newPool(lists ...[]quiz.Question) *quiz.Pool {
	var banks []*quiz.Bank
	for _, questions := range lists {
		banks = append(banks, &quiz.Bank{Questions: questions})
	}
	return quiz.NewPool(banks...)
}
