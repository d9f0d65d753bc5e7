package quiz

import (
	"math"
	"strconv"
	"strings"
)

// IsCorrect reports whether an answer is right. The parameter must be the
// canonical form that Normalize of the same question returned. For any other
// string, the result is false.
func (d DrawnQuestion) IsCorrect(normalized string) bool {
	prefix, answer, found := strings.Cut(normalized, ":")
	if !found {
		return false
	}
	switch d.Kind {
	case Single, Boolean:
		return prefix == "c" && d.isRightIndex(answer)
	case Multiple:
		return prefix == "m" && d.isRightSet(answer)
	case Number:
		return prefix == "n" && d.isWithinTolerance(answer)
	case Text:
		return prefix == "t" && d.isAcceptedText(answer)
	}
	return false
}

func (d DrawnQuestion) isRightIndex(answer string) bool {
	i, err := strconv.ParseUint(answer, 10, 6)
	return err == nil && len(d.Question.RightIndexes) == 1 && d.order.indexAt(int(i)) == d.Question.RightIndexes[0]
}

// isRightSet reports whether the answer has exactly the right choices. Each set
// is a bit mask; a valid question has at most 8 choices.
func (d DrawnQuestion) isRightSet(answer string) bool {
	var chosen, right uint64
	for rest, more := answer, true; more; {
		var index string
		index, rest, more = strings.Cut(rest, ",")
		i, err := strconv.ParseUint(index, 10, 6)
		if err != nil {
			return false
		}
		chosen |= 1 << d.order.indexAt(int(i))
	}
	for _, i := range d.Question.RightIndexes {
		if i < 0 || i > 63 {
			return false
		}
		right |= 1 << i
	}
	return chosen == right
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

func (q *Question) isAcceptedText(answer string) bool {
	for _, accepted := range q.Accepted {
		if Fold(accepted) == answer {
			return true
		}
	}
	return false
}
