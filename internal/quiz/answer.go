package quiz

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// MaxTextLen is the longest answer to a question of kind Text, and the longest
// accepted text, in characters (Unicode code points) before folding.
const MaxTextLen = 100

// maxNumberBytes is the longest number in an answer, as JSON text.
const maxNumberBytes = 100

// ErrInvalidAnswer means that an answer does not fit its question. Every error of
// Normalize wraps it.
var ErrInvalidAnswer = errors.New("invalid answer")

// ErrNoBank means that there is no question bank with a name.
var ErrNoBank = errors.New("the question bank does not exist")

// Normalize checks that the answer has exactly the field of the question's kind,
// with a value in range: Choice for the kinds Single and Boolean, Choices for Multiple,
// Value for Number (a JSON number) and Text (a JSON string). A Value of null counts as
// absent. Normalize returns the canonical form of the answer, for IsCorrect. Answers that
// mean the same have the same form:
//
//	"c:1"         the choice with index 1
//	"m:0,2"       the set of choices 0 and 2, ascending
//	"n:1969"      a number, as the shortest decimal of the float64
//	"t:the moon"  a text, folded (see Fold)
//
// Every error wraps ErrInvalidAnswer. Its text is for the player.
func (q *Question) Normalize(answer protocol.Given) (string, error) {
	field := kindRules[q.Kind].field
	if field == "" {
		return "", invalidAnswer("questions of kind %q cannot be answered", q.Kind)
	}
	if err := checkFields(answer, field); err != nil {
		return "", err
	}
	value := bytes.TrimSpace(answer.Value)
	switch q.Kind {
	case Multiple:
		return q.normalizeChoices(answer.Choices)
	case Number:
		return normalizeNumber(value)
	case Text:
		return normalizeText(value)
	}
	return formatChoice(*answer.Choice), q.checkChoice(*answer.Choice)
}

func invalidAnswer(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalidAnswer, fmt.Sprintf(format, args...))
}

func checkFields(answer protocol.Given, field string) error {
	value := string(bytes.TrimSpace(answer.Value))
	for _, f := range []struct {
		name  string
		isSet bool
	}{{"choice", answer.Choice != nil}, {"choices", answer.Choices != nil}, {"value", value != "" && value != "null"}} {
		if f.name == field && !f.isSet {
			return invalidAnswer("%q is missing", field)
		}
		if f.name != field && f.isSet {
			return invalidAnswer("%q does not fit this question, it asks for %q", f.name, field)
		}
	}
	return nil
}

func (q *Question) checkChoice(choice int) error {
	if choice < 0 || choice >= len(q.Choices) {
		return invalidAnswer("choice %d is not one of 0 to %d", choice, len(q.Choices)-1)
	}
	return nil
}

func (q *Question) normalizeChoices(choices []int) (string, error) {
	if len(choices) == 0 {
		return "", invalidAnswer("no choice was made")
	}
	if len(choices) > len(q.Choices) {
		return "", invalidAnswer("%d choices were made out of %d", len(choices), len(q.Choices))
	}
	sorted := slices.Sorted(slices.Values(choices))
	for i, choice := range sorted {
		if err := q.checkChoice(choice); err != nil {
			return "", err
		}
		if i > 0 && choice == sorted[i-1] {
			return "", invalidAnswer("choice %d was made twice", choice)
		}
	}
	return formatChoices(sorted), nil
}

func formatChoice(choice int) string { return "c:" + strconv.Itoa(choice) }

// formatChoices returns the canonical form of ascending choices, of which there is at
// least one.
func formatChoices(choices []int) string {
	canonical := []byte("m:")
	for _, choice := range choices {
		canonical = append(strconv.AppendInt(canonical, int64(choice), 10), ',')
	}
	return string(canonical[:len(canonical)-1])
}

func normalizeNumber(value []byte) (string, error) {
	if len(value) > maxNumberBytes {
		return "", invalidAnswer("the number is longer than %d characters", maxNumberBytes)
	}
	var number json.Number
	if value[0] == '"' || json.Unmarshal(value, &number) != nil {
		return "", invalidAnswer("the value is not a number")
	}
	v, err := strconv.ParseFloat(number.String(), 64)
	if err != nil {
		return "", invalidAnswer("the number is too large")
	}
	return "n:" + formatNumber(v), nil
}

// formatNumber writes numbers up to 1e21 without an exponent, as encoding/json
// does. Both zeros have the same form.
func formatNumber(number float64) string {
	if number == 0 {
		return "0"
	}
	if magnitude := math.Abs(number); magnitude < 1e-6 || magnitude >= 1e21 {
		return strconv.FormatFloat(number, 'e', -1, 64)
	}
	return strconv.FormatFloat(number, 'f', -1, 64)
}

func normalizeText(value []byte) (string, error) {
	var text string
	if value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return "", invalidAnswer("the value is not a text")
	}
	if utf8.RuneCountInString(text) > MaxTextLen {
		return "", invalidAnswer("the text is longer than %d characters", MaxTextLen)
	}
	folded := Fold(text)
	if folded == "" {
		return "", invalidAnswer("the text is empty")
	}
	return "t:" + folded, nil
}

// IsCorrect reports whether an answer is right. The parameter must be the
// canonical form that Normalize of the same question returned. For any other
// string, and for an invalid question, the result is false.
func (d DrawnQuestion) IsCorrect(normalized string) bool {
	switch d.Kind {
	case Single, Boolean, Multiple:
		return normalized != "" && normalized == d.rightChoices()
	case Number:
		number, found := strings.CutPrefix(normalized, "n:")
		return found && d.isWithinTolerance(number)
	case Text:
		text, found := strings.CutPrefix(normalized, "t:")
		return found && slices.ContainsFunc(d.Accepted, func(accepted string) bool { return Fold(accepted) == text })
	}
	return false
}

// rightChoices returns the canonical form of the right answer to a question with choices,
// or "" if the question is invalid.
func (d DrawnQuestion) rightChoices() string {
	right := d.RightIndexes()
	if len(right) == 0 || len(right) != len(d.Question.RightIndexes) {
		return ""
	}
	if d.Kind == Multiple {
		return formatChoices(right)
	}
	if len(right) > 1 {
		return ""
	}
	return formatChoice(right[0])
}

// roundingSlack is the accepted rounding error of a difference of two decimals,
// as a fraction of the larger one. For example, 1.1 is within 0.1 of 1, although
// the float64 difference is 0.10000000000000009. The slack is less than 1 for
// numbers below 2^50, so it never accepts a wrong whole number there.
const roundingSlack = 0x1p-51

func (q *Question) isWithinTolerance(answer string) bool {
	value, err := strconv.ParseFloat(answer, 64)
	if err != nil || q.Target == nil {
		return false
	}
	if q.Target.Tolerance == 0 {
		return value == q.Target.Value
	}
	slack := roundingSlack * max(math.Abs(value), math.Abs(q.Target.Value))
	return math.Abs(value-q.Target.Value) <= q.Target.Tolerance+slack
}

// Solution is the right answer as players see it after the question has closed.
// Its JSON form is one of
//
//	{"choice":1}
//	{"choices":[0,2]}                     ascending
//	{"value":1969,"tolerance":0}
//	{"value":"…","accepted":["…"]}        accepted contains the value too
type Solution struct {
	Choice    *int     `json:"choice,omitempty"`
	Choices   []int    `json:"choices,omitempty"`
	Value     any      `json:"value,omitempty"` // a float64 or a string
	Tolerance *float64 `json:"tolerance,omitempty"`
	Accepted  []string `json:"accepted,omitempty"`
}

// Solution returns the right answer. The caller may change the result. For a
// question without a right answer, the result is empty.
func (d DrawnQuestion) Solution() Solution {
	switch {
	case d.Kind == Multiple:
		return Solution{Choices: d.RightIndexes()}
	case d.Kind == Number && d.Target != nil:
		return Solution{Value: d.Target.Value, Tolerance: new(d.Target.Tolerance)}
	case d.Kind == Text && len(d.Accepted) > 0:
		return Solution{Value: d.Accepted[0], Accepted: slices.Clone(d.Accepted)}
	case d.Kind == Single || d.Kind == Boolean:
		if right := d.RightIndexes(); len(right) == 1 {
			return Solution{Choice: &right[0]}
		}
	}
	return Solution{}
}
