package quiz_test

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

var (
	singleQuestion   = drawnInOrder(quiz.Question{Kind: quiz.Single, Choices: []string{"a", "b", "c", "d"}, RightIndexes: []int{1}})
	booleanQuestion  = drawnInOrder(quiz.Question{Kind: quiz.Boolean, Choices: []string{"True", "False"}, RightIndexes: []int{0}})
	multipleQuestion = drawnInOrder(quiz.Question{Kind: quiz.Multiple, Choices: []string{"a", "b", "c", "d"}, RightIndexes: []int{2, 0}})
	numberQuestion   = drawnInOrder(quiz.Question{Kind: quiz.Number, Target: &quiz.Target{Value: 1969, Tolerance: 2}})
	textQuestion     = drawnInOrder(quiz.Question{Kind: quiz.Text, Accepted: []string{"The Moon", "Luna", "月球"}})
)

// drawnInOrder returns a drawn question whose choices are not shuffled.
func drawnInOrder(q quiz.Question) quiz.DrawnQuestion { return quiz.DrawnQuestion{Question: &q} }

func parseAnswer(t *testing.T, document string) protocol.Given {
	t.Helper()
	var answer protocol.Given
	if err := json.Unmarshal([]byte(document), &answer); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return answer
}

func TestNormalizeReturnsTheCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		question  quiz.DrawnQuestion
		answer    string
		want      string
		isCorrect bool
	}{
		{"single right", singleQuestion, `{"choice":1}`, "c:1", true},
		{"single wrong", singleQuestion, `{"choice":3}`, "c:3", false},
		{"null is absent", singleQuestion, `{"choice":1,"choices":null,"value":null}`, "c:1", true},
		{"boolean right", booleanQuestion, `{"choice":0}`, "c:0", true},
		{"boolean wrong", booleanQuestion, `{"choice":1}`, "c:1", false},
		{"set right", multipleQuestion, `{"choices":[0,2]}`, "m:0,2", true},
		{"set in another order", multipleQuestion, `{"choices":[2,0]}`, "m:0,2", true},
		{"set too small", multipleQuestion, `{"choices":[2]}`, "m:2", false},
		{"set too large", multipleQuestion, `{"choices":[3,2,1,0]}`, "m:0,1,2,3", false},
		{"number", numberQuestion, `{"value":1969}`, "n:1969", true},
		{"number with fraction", numberQuestion, `{"value":1969.0}`, "n:1969", true},
		{"number with exponent", numberQuestion, `{"value":1.969e3}`, "n:1969", true},
		{"number at the lower end", numberQuestion, `{"value":1967}`, "n:1967", true},
		{"number at the upper end", numberQuestion, `{"value":1971}`, "n:1971", true},
		{"number above the upper end", numberQuestion, `{"value":1971.001}`, "n:1971.001", false},
		{"negative zero", numberQuestion, `{"value":-0.0}`, "n:0", false},
		{"underflow", numberQuestion, `{"value":1e-999}`, "n:0", false},
		{"text", textQuestion, `{"value":"the moon"}`, "t:the moon", true},
		{"text folded", textQuestion, `{"value":" THE  ｍｏｏｎ "}`, "t:the moon", true},
		{"text, second accepted", textQuestion, `{"value":"月球"}`, "t:月球", true},
		{"text wrong", textQuestion, `{"value":"mars"}`, "t:mars", false},
		{"text that starts like a canonical form", textQuestion, `{"value":"t:luna"}`, "t:t:luna", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := test.question.Normalize(parseAnswer(t, test.answer))
			if err != nil || got != test.want {
				t.Fatalf("Normalize(%s) = %q, %v, want %q", test.answer, got, err, test.want)
			}
			if isCorrect := test.question.IsCorrect(got); isCorrect != test.isCorrect {
				t.Errorf("IsCorrect(%q) = %v, want %v", got, isCorrect, test.isCorrect)
			}
		})
	}
}

func TestNormalizeRefusesInvalidAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		question quiz.DrawnQuestion
		answer   string
		reason   string
	}{
		{singleQuestion, `{}`, `"choice" is missing`},
		{singleQuestion, `{"choice":null}`, `"choice" is missing`},
		{singleQuestion, `{"choice":4}`, "choice 4 is not one of 0 to 3"},
		{singleQuestion, `{"choice":-1}`, "choice -1 is not one of 0 to 3"},
		{singleQuestion, `{"choice":1,"value":1}`, `"value" does not fit`},
		{singleQuestion, `{"choices":[1]}`, `"choice" is missing`},
		{booleanQuestion, `{"choice":2}`, "choice 2 is not one of 0 to 1"},
		{multipleQuestion, `{"choices":[]}`, "no choice was made"},
		{multipleQuestion, `{"choices":[0,2,0]}`, "choice 0 was made twice"},
		{multipleQuestion, `{"choices":[0,4]}`, "choice 4 is not one of 0 to 3"},
		{multipleQuestion, `{"choices":[0,1,2,3,3]}`, "5 choices were made out of 4"},
		{multipleQuestion, `{"choice":0,"choices":[0]}`, `"choice" does not fit`},
		{numberQuestion, `{"value":"1969"}`, "not a number"},
		{numberQuestion, `{"value":true}`, "not a number"},
		{numberQuestion, `{"value":[1]}`, "not a number"},
		{numberQuestion, `{"value":1e999}`, "too large"},
		{numberQuestion, `{"value":-1e999}`, "too large"},
		{numberQuestion, `{"value":1` + strings.Repeat("0", 100) + `}`, "longer than 100"},
		{numberQuestion, `{"choice":1}`, `does not fit`},
		{textQuestion, `{"value":1969}`, "not a text"},
		{textQuestion, `{"value":{}}`, "not a text"},
		{textQuestion, `{"value":""}`, "empty"},
		{textQuestion, `{"value":" \u3000"}`, "empty"},
		{textQuestion, `{"value":"` + strings.Repeat("月", 101) + `"}`, "longer than 100"},
		{drawnInOrder(quiz.Question{Kind: "essay"}), `{"value":"x"}`, "cannot be answered"},
	} {
		got, err := test.question.Normalize(parseAnswer(t, test.answer))
		if !errors.Is(err, quiz.ErrInvalidAnswer) || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s %s: %q, %v, want the reason %q", test.question.Kind, test.answer, got, err, test.reason)
		}
	}
}

func TestTextUpToTheLimitIsAccepted(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("月", quiz.MaxTextLen)
	if _, err := textQuestion.Normalize(parseAnswer(t, `{"value":"`+longest+`"}`)); err != nil {
		t.Fatal(err)
	}
}

func TestNumbersThatAreEqualHaveOneForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Float64().Draw(t, "v")
		var forms []string
		for _, format := range []byte{'g', 'e', 'f'} {
			spelled := strconv.FormatFloat(value, format, -1, 64)
			if len(spelled) > 100 {
				continue
			}
			form, err := numberQuestion.Normalize(protocol.Given{Value: json.RawMessage(spelled)})
			if err != nil {
				t.Fatalf("%s: %v", spelled, err)
			}
			forms = append(forms, form)
		}
		for _, form := range forms {
			if parsed, err := strconv.ParseFloat(form[2:], 64); form != forms[0] || err != nil || parsed != value {
				t.Fatalf("%v has the forms %q", value, forms)
			}
		}
	})
}

func TestToleranceIsInclusiveInDecimals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// All values are thousandths, so the correct verdict is integer
		// arithmetic.
		target := rapid.IntRange(-10_000_000, 10_000_000).Draw(t, "target")
		tolerance := rapid.IntRange(0, 5_000).Draw(t, "tolerance")
		difference := rapid.OneOf(
			rapid.IntRange(-6_000, 6_000),
			rapid.SampledFrom([]int{tolerance, -tolerance, tolerance + 1, -tolerance - 1}),
		).Draw(t, "off")
		q := drawnInOrder(quiz.Question{Kind: quiz.Number, Target: &quiz.Target{
			Value: float64(target) / 1000, Tolerance: float64(tolerance) / 1000,
		}})
		value, _ := json.Marshal(float64(target+difference) / 1000)
		form, err := q.Normalize(protocol.Given{Value: value})
		if err != nil {
			t.Fatal(err)
		}
		if want := max(difference, -difference) <= tolerance; q.IsCorrect(form) != want {
			t.Fatalf("%s against %+v: correct is %v", form, *q.Target, !want)
		}
	})
}

func TestIsCorrectNeverPanics(t *testing.T) {
	t.Parallel()
	broken := []quiz.Question{
		{}, {Kind: quiz.Single}, {Kind: quiz.Boolean, RightIndexes: []int{-1}}, {Kind: quiz.Multiple, RightIndexes: []int{-1, 99}},
		{Kind: quiz.Number}, {Kind: quiz.Text}, {Kind: quiz.Single, RightIndexes: []int{0, 1}},
		{Kind: quiz.Number, Target: &quiz.Target{Value: math.NaN()}},
	}
	for _, q := range append(broken, *singleQuestion.Question, *booleanQuestion.Question, *multipleQuestion.Question, *numberQuestion.Question, *textQuestion.Question) {
		for _, form := range []string{"", ":", "c:", "c:x", "m:", "m:,", "m:64", "m:0,", "n:", "n:NaN", "t:", "x:1", "1"} {
			if drawnInOrder(q).IsCorrect(form) {
				t.Errorf("%+v: IsCorrect(%q) = true, want false", q, form)
			}
		}
	}
}

// Normalize decodes every text like encoding/json, although it has a shortcut for plain texts.
func TestTextsAreReadAsJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`"([a-z ~!]|[\x00-\x7f]|é|\\[nu"0]|"){0,12}"?`).Draw(t, "value")
		var decoded string
		isText := json.Unmarshal([]byte(value), &decoded) == nil
		form, err := textQuestion.Normalize(protocol.Given{Value: json.RawMessage(value)})
		if folded := quiz.Fold(decoded); isText && folded != "" {
			if err != nil || form != "t:"+folded {
				t.Fatalf("%q is %q, %v, want %q", value, form, err, folded)
			}
			return
		}
		if err == nil {
			t.Fatalf("%q was read as %q", value, form)
		}
	})
}

func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{
		`{"choice":1}`, `{"choices":[2,0]}`, `{"value":1969.0}`, `{"value":-0}`, `{"value":1e308}`,
		`{"value":" The\u00a0MOON "}`, `{"value":"\ud800"}`, `{"value":"ﬁ\u0345ẞİ"}`, `{"value":null}`,
	} {
		f.Add([]byte(seed))
	}
	questions := []quiz.DrawnQuestion{singleQuestion, booleanQuestion, multipleQuestion, numberQuestion, textQuestion}
	f.Fuzz(func(t *testing.T, document []byte) {
		var answer protocol.Given
		if json.Unmarshal(document, &answer) != nil {
			return
		}
		for _, q := range questions {
			form, err := q.Normalize(answer)
			if err != nil {
				if !errors.Is(err, quiz.ErrInvalidAnswer) {
					t.Fatalf("%v is not an ErrInvalidAnswer", err)
				}
				continue
			}
			q.IsCorrect(form)
			if formAgain, err := q.Normalize(answerFromForm(t, form)); err != nil && !isTooLong(form) || err == nil && formAgain != form {
				t.Fatalf("%s %s has the form %q, which has the form %q, %v", q.Kind, document, form, formAgain, err)
			}
		}
	})
}

// isTooLong reports whether the text of a canonical form is too long for an answer. Folding can
// make a text longer.
func isTooLong(form string) bool { return len([]rune(form)) > quiz.MaxTextLen+2 }

// answerFromForm converts a canonical form back to an answer.
func answerFromForm(t *testing.T, form string) protocol.Given {
	t.Helper()
	value := form[2:]
	switch form[0] {
	case 'c':
		return parseAnswer(t, `{"choice":`+value+`}`)
	case 'm':
		return parseAnswer(t, `{"choices":[`+value+`]}`)
	case 'n':
		return protocol.Given{Value: json.RawMessage(value)}
	}
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return protocol.Given{Value: quoted}
}
