package quiz_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"laststand/internal/quiz"
)

func TestSolutionReturnsTheRightAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		question quiz.DrawnQuestion
		want     string
	}{
		{singleQuestion, `{"choice":1}`},
		{booleanQuestion, `{"choice":0}`},
		{multipleQuestion, `{"choices":[0,2]}`},
		{numberQuestion, `{"value":1969,"tolerance":2}`},
		{drawnInOrder(quiz.Question{Kind: quiz.Number, Target: &quiz.Target{}}), `{"value":0,"tolerance":0}`},
		{textQuestion, `{"value":"The Moon","accepted":["The Moon","Luna","月球"]}`},
		{drawnInOrder(quiz.Question{Kind: quiz.Text}), `{}`},
		{drawnInOrder(quiz.Question{Kind: quiz.Single}), `{}`},
	} {
		got, err := json.Marshal(test.question.Solution())
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.question.Kind, got, err, test.want)
		}
	}
	if !slices.Equal(multipleQuestion.Question.RightIndexes, []int{2, 0}) {
		t.Error("Solution changed the question's RightIndexes")
	}
}

// validQuestion returns a question of a kind without errors and warnings.
func validQuestion(kind quiz.Kind) quiz.Question {
	q := quiz.Question{
		ID: "q_1", Kind: kind, Lang: "en", Category: "Science", Difficulty: quiz.Easy, Text: "What?",
		Explanation: "So.", Source: "me", Licence: "CC0-1.0",
	}
	switch kind {
	case quiz.Boolean:
		q.Choices, q.RightIndexes = []string{"True", "False"}, []int{1}
	case quiz.Number:
		q.Target = &quiz.Target{Value: 3}
	case quiz.Text:
		q.Accepted = []string{"x"}
	default:
		q.Choices, q.RightIndexes = []string{"a", "b", "c"}, []int{1}
	}
	return q
}

func TestValidQuestionsHaveNoErrors(t *testing.T) {
	t.Parallel()
	for _, kind := range []quiz.Kind{quiz.Single, quiz.Boolean, quiz.Multiple, quiz.Number, quiz.Text} {
		q := validQuestion(kind)
		if faults := append(q.ValidationErrors(), q.Warnings()...); len(faults) > 0 {
			t.Errorf("%s: %q", kind, faults)
		}
	}
}

func TestValidationErrorsNameEachProblem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1001)
	for _, test := range []struct {
		kind   quiz.Kind
		want   string
		change func(*quiz.Question)
	}{
		{quiz.Single, "the text is empty", func(q *quiz.Question) { q.Text = " \u3000" }},
		{quiz.Single, "longer than 1000", func(q *quiz.Question) { q.Text = long }},
		{quiz.Single, "the text is not UTF-8", func(q *quiz.Question) { q.Text = "\xff" }},
		{quiz.Single, "control character", func(q *quiz.Question) { q.Text = "a\x00b" }},
		{quiz.Single, "the category is empty", func(q *quiz.Question) { q.Category = "" }},
		{quiz.Single, "the category is longer than 100", func(q *quiz.Question) { q.Category = long }},
		{quiz.Single, `id ""`, func(q *quiz.Question) { q.ID = "" }},
		{quiz.Single, `id "a b"`, func(q *quiz.Question) { q.ID = "a b" }},
		{quiz.Single, "1 to 64", func(q *quiz.Question) { q.ID = strings.Repeat("a", 65) }},
		{quiz.Single, "language is not given", func(q *quiz.Question) { q.Lang = "" }},
		{quiz.Single, `language "chinese!"`, func(q *quiz.Question) { q.Lang = "chinese!" }},
		{quiz.Single, `language "und"`, func(q *quiz.Question) { q.Lang = "und" }},
		{quiz.Single, `written "zh-CN"`, func(q *quiz.Question) { q.Lang = "zh_cn" }},
		{quiz.Single, `difficulty "tough"`, func(q *quiz.Question) { q.Difficulty = "tough" }},
		{"essay", `kind "essay"`, func(*quiz.Question) {}},
		{quiz.Single, "1 choices, kind single takes 2 to 6", func(q *quiz.Question) { q.Choices, q.RightIndexes = []string{"a"}, []int{0} }},
		{quiz.Single, "7 choices", func(q *quiz.Question) { q.Choices = strings.Split("abcdefg", "") }},
		{quiz.Boolean, "3 choices, kind boolean takes 2 to 2", func(q *quiz.Question) { q.Choices = strings.Split("abc", "") }},
		{quiz.Multiple, "9 choices, kind multiple takes 2 to 8", func(q *quiz.Question) { q.Choices = strings.Split("abcdefghi", "") }},
		{quiz.Single, "choice 2 is empty", func(q *quiz.Question) { q.Choices[1] = "" }},
		{quiz.Single, "choice 1 is longer than 200", func(q *quiz.Question) { q.Choices[0] = long }},
		{quiz.Single, "choices 1 and 3 are the same", func(q *quiz.Question) { q.Choices[2] = " Ａ" }},
		{quiz.Single, "right index 3", func(q *quiz.Question) { q.RightIndexes = []int{3} }},
		{quiz.Single, "right index -1", func(q *quiz.Question) { q.RightIndexes = []int{-1} }},
		{quiz.Single, "2 of its choices are right", func(q *quiz.Question) { q.RightIndexes = []int{0, 1} }},
		{quiz.Single, "0 of its choices are right", func(q *quiz.Question) { q.RightIndexes = nil }},
		{quiz.Multiple, "none of its choices is right", func(q *quiz.Question) { q.RightIndexes = nil }},
		{quiz.Multiple, "right index 1 is there twice", func(q *quiz.Question) { q.RightIndexes = []int{1, 1} }},
		{quiz.Multiple, "4 right indexes for 3 choices", func(q *quiz.Question) { q.RightIndexes = []int{0, 1, 2, 2} }},
		{quiz.Number, "no number to find", func(q *quiz.Question) { q.Target = nil }},
		{quiz.Number, "number is not finite", func(q *quiz.Question) { q.Target.Value = math.NaN() }},
		{quiz.Number, "tolerance is below 0", func(q *quiz.Question) { q.Target.Tolerance = -1 }},
		{quiz.Number, "tolerance is below 0 or not finite", func(q *quiz.Question) { q.Target.Tolerance = math.NaN() }},
		{quiz.Number, "tolerance is below 0 or not finite", func(q *quiz.Question) { q.Target.Tolerance = math.Inf(1) }},
		{quiz.Number, "choices do not fit", func(q *quiz.Question) { q.Choices = []string{"a", "b"} }},
		{quiz.Text, "0 accepted texts", func(q *quiz.Question) { q.Accepted = nil }},
		{quiz.Text, "51 accepted texts", func(q *quiz.Question) { q.Accepted = slices.Repeat([]string{"x"}, 51) }},
		{quiz.Text, "accepted text 1 is longer than 100", func(q *quiz.Question) { q.Accepted = []string{long[:202]} }},
		{quiz.Text, "accepted text 2 is empty", func(q *quiz.Question) { q.Accepted = []string{"x", " "} }},
		{quiz.Text, "a number to find does not fit", func(q *quiz.Question) { q.Target = &quiz.Target{} }},
		{quiz.Boolean, "accepted texts do not fit", func(q *quiz.Question) { q.Accepted = []string{"x"} }},
		{quiz.Single, "media", func(q *quiz.Question) { q.Media = "javascript:alert(1)" }},
		{quiz.Single, "media", func(q *quiz.Question) { q.Media = "//evil.example/x.png" }},
		{quiz.Single, "the explanation is longer", func(q *quiz.Question) { q.Explanation = long }},
		{quiz.Single, "the licence is longer", func(q *quiz.Question) { q.Licence = long }},
	} {
		q := validQuestion(test.kind)
		test.change(&q)
		faults := q.ValidationErrors()
		if len(faults) != 1 || !strings.Contains(faults[0], test.want) {
			t.Errorf("%s: errors %q, want one with %q", test.kind, faults, test.want)
		}
	}
}

func TestValidationErrorsAreComplete(t *testing.T) {
	t.Parallel()
	q := quiz.Question{Kind: quiz.Multiple, Choices: []string{"a"}}
	if faults := q.ValidationErrors(); len(faults) != 7 {
		t.Errorf("%d errors, want 7: %q", len(faults), faults)
	}
}

func TestWarningsNameMissingFields(t *testing.T) {
	t.Parallel()
	q := validQuestion(quiz.Text)
	q.Explanation, q.Source, q.Licence, q.Accepted = "", "", "", []string{"Moon", "moon "}
	if got := q.Warnings(); len(got) != 4 || len(q.ValidationErrors()) != 0 {
		t.Errorf("warnings %q, errors %q", got, q.ValidationErrors())
	}
}

func TestMediaMayBeALinkOrAPath(t *testing.T) {
	t.Parallel()
	for _, media := range []string{"https://example.org/a.png", "http://example.org/a b.png", "/media/a.png?x=1"} {
		q := validQuestion(quiz.Single)
		if q.Media = media; len(q.ValidationErrors()) > 0 {
			t.Errorf("%s: %q", media, q.ValidationErrors())
		}
	}
}
