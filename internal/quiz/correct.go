package quiz

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

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
		tolerance := d.Target.Tolerance
		return Solution{Value: d.Target.Value, Tolerance: &tolerance}
	case d.Kind == Text && len(d.Accepted) > 0:
		return Solution{Value: d.Accepted[0], Accepted: slices.Clone(d.Accepted)}
	case d.Kind == Single || d.Kind == Boolean:
		if right := d.RightIndexes(); len(right) == 1 {
			return Solution{Choice: &right[0]}
		}
	}
	return Solution{}
}
