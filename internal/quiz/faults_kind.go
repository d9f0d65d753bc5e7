package quiz

import (
	"fmt"
	"math"
)

func (f *faults) checkChoices(q *Question, lowest, highest int) {
	if n := len(q.Choices); n < lowest || n > highest {
		f.add("it has %d choices, kind %s takes %d to %d", n, q.Kind, lowest, highest)
		if n > highest {
			return
		}
	}
	for i, c := range q.Choices {
		f.checkText(fmt.Sprintf("choice %d", i+1), c, MaxChoiceLen)
	}
	if i, j := firstDuplicates(q.Choices); j > 0 {
		f.add("choices %d and %d are the same", i+1, j+1)
	}
	if n := len(q.Right); n > len(q.Choices) {
		f.add("it has %d right indexes for %d choices", n, len(q.Choices))
		return
	}
	seen := make(map[int]struct{}, len(q.Right))
	for _, r := range q.Right {
		if r < 0 || r >= len(q.Choices) {
			f.add("right index %d points at no choice", r)
		}
		if _, twice := seen[r]; twice {
			f.add("right index %d is there twice", r)
		}
		seen[r] = struct{}{}
	}
}

// firstDuplicates returns the indexes of the first two texts whose folded forms
// are equal. It returns 0, 0 if all differ.
func firstDuplicates(texts []string) (int, int) {
	first := make(map[string]int, len(texts))
	for j, t := range texts {
		folded := Fold(t)
		if i, found := first[folded]; found {
			return i, j
		}
		first[folded] = j
	}
	return 0, 0
}

func (f *faults) checkOneRight(q *Question) {
	if len(q.Right) != 1 {
		f.add("%d of its choices are right, kind %s takes 1", len(q.Right), q.Kind)
	}
}

func (f *faults) checkSomeRight(q *Question) {
	if len(q.Right) == 0 {
		f.add("none of its choices is right")
	}
}

func (f *faults) checkTarget(t *Target) {
	if t == nil {
		f.add("it has no number to find")
		return
	}
	if math.IsNaN(t.Value) || math.IsInf(t.Value, 0) {
		f.add("its number is not finite")
	}
	if !(t.Tolerance >= 0) || math.IsInf(t.Tolerance, 0) {
		f.add("its tolerance is below 0 or not finite")
	}
}

func (f *faults) checkAccepted(accepted []string) {
	if n := len(accepted); n == 0 || n > MaxAccepted {
		f.add("it has %d accepted texts, kind text takes 1 to %d", n, MaxAccepted)
		return
	}
	for i, a := range accepted {
		f.checkText(fmt.Sprintf("accepted text %d", i+1), a, MaxTextLen)
	}
}

// checkUnexpected reports fields that belong to another kind.
func (f *faults) checkUnexpected(q *Question) {
	chosen := fieldOf(q.Kind) != "value"
	if !chosen && (len(q.Choices) > 0 || len(q.Right) > 0) {
		f.add("choices do not fit kind %s", q.Kind)
	}
	if q.Kind != Number && q.Target != nil {
		f.add("a number to find does not fit kind %s", q.Kind)
	}
	if q.Kind != Text && len(q.Accepted) > 0 {
		f.add("accepted texts do not fit kind %s", q.Kind)
	}
}
