package quiz

import (
	"fmt"
	"math"
)

func (e *validationErrors) checkChoices(q *Question, lowest, highest int) {
	if n := len(q.Choices); n < lowest || n > highest {
		e.add("it has %d choices, kind %s takes %d to %d", n, q.Kind, lowest, highest)
		if n > highest {
			return
		}
	}
	for i, choice := range q.Choices {
		e.checkText(fmt.Sprintf("choice %d", i+1), choice, MaxChoiceLen)
	}
	if i, j := firstDuplicates(q.Choices); j > 0 {
		e.add("choices %d and %d are the same", i+1, j+1)
	}
	if n := len(q.RightIndexes); n > len(q.Choices) {
		e.add("it has %d right indexes for %d choices", n, len(q.Choices))
		return
	}
	seen := make(map[int]struct{}, len(q.RightIndexes))
	for _, index := range q.RightIndexes {
		if index < 0 || index >= len(q.Choices) {
			e.add("right index %d points at no choice", index)
		}
		if _, isRepeated := seen[index]; isRepeated {
			e.add("right index %d is there twice", index)
		}
		seen[index] = struct{}{}
	}
}

// firstDuplicates returns the indexes of the first two texts whose folded forms
// are equal. It returns 0, 0 if all differ.
func firstDuplicates(texts []string) (int, int) {
	firstIndex := make(map[string]int, len(texts))
	for j, text := range texts {
		folded := Fold(text)
		if i, found := firstIndex[folded]; found {
			return i, j
		}
		firstIndex[folded] = j
	}
	return 0, 0
}

func (e *validationErrors) checkOneRight(q *Question) {
	if len(q.RightIndexes) != 1 {
		e.add("%d of its choices are right, kind %s takes 1", len(q.RightIndexes), q.Kind)
	}
}

func (e *validationErrors) checkAnyRight(q *Question) {
	if len(q.RightIndexes) == 0 {
		e.add("none of its choices is right")
	}
}

func (e *validationErrors) checkTarget(target *Target) {
	if target == nil {
		e.add("it has no number to find")
		return
	}
	if math.IsNaN(target.Value) || math.IsInf(target.Value, 0) {
		e.add("its number is not finite")
	}
	if !(target.Tolerance >= 0) || math.IsInf(target.Tolerance, 0) {
		e.add("its tolerance is below 0 or not finite")
	}
}

func (e *validationErrors) checkAccepted(accepted []string) {
	if n := len(accepted); n == 0 || n > MaxAccepted {
		e.add("it has %d accepted texts, kind text takes 1 to %d", n, MaxAccepted)
		return
	}
	for i, text := range accepted {
		e.checkText(fmt.Sprintf("accepted text %d", i+1), text, MaxTextLen)
	}
}

// checkUnexpectedFields reports fields that belong to another kind.
func (e *validationErrors) checkUnexpectedFields(q *Question) {
	hasChoices := answerField(q.Kind) != "value"
	if !hasChoices && (len(q.Choices) > 0 || len(q.RightIndexes) > 0) {
		e.add("choices do not fit kind %s", q.Kind)
	}
	if q.Kind != Number && q.Target != nil {
		e.add("a number to find does not fit kind %s", q.Kind)
	}
	if q.Kind != Text && len(q.Accepted) > 0 {
		e.add("accepted texts do not fit kind %s", q.Kind)
	}
}
