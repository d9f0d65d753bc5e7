package quiz

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
)

// DrawnQuestion is a question as one match asks it: the question, and the match's
// order of its choices. The methods Choices, RightIndexes, Normalize and IsCorrect
// use the match's order. The field Question has the question's own order. A
// DrawnQuestion is small and may be copied.
//
// A drawn question and its bank share one Question. After ShareQuestion, so does
// a decoded one.
//
// The JSON form is a normal question with its choices in the match's order. It
// must be decoded into a zero DrawnQuestion, which then gets a new Question. If
// the JSON is null or has no field of a question, Question stays nil, and the
// caller must set it.
type DrawnQuestion struct {
	*Question
	order choiceOrder // of the choices in this match
}

// Shuffle returns the question with its choices in a random order from rng. It
// also shuffles the choices true and false. Every order is equally likely. With
// over 16 choices, which no valid question has, the order stays. No other
// goroutine may use rng at the same time.
func (q *Question) Shuffle(rng *rand.Rand) DrawnQuestion {
	d := DrawnQuestion{Question: q}
	if len(q.Choices) <= maxOrderedChoices {
		for place, index := range rng.Perm(len(q.Choices)) {
			d.order = d.order.withIndex(place, index)
		}
	}
	return d
}

// Choices returns the choices in the order of the match.
func (d DrawnQuestion) Choices() []string {
	if d.Question.Choices == nil {
		return nil
	}
	choices := make([]string, len(d.Question.Choices))
	for place := range choices {
		choices[place] = d.Question.Choices[d.order.indexAt(place)]
	}
	return choices
}

// RightIndexes returns the ascending indexes of the right choices in the order of the
// match, which is the order of Choices.
func (d DrawnQuestion) RightIndexes() (right []int) {
	for place := range d.Question.Choices {
		if slices.Contains(d.Question.RightIndexes, d.order.indexAt(place)) {
			right = append(right, place)
		}
	}
	return right
}

// MarshalJSON encodes the question with the choices in the order of the match.
func (d DrawnQuestion) MarshalJSON() ([]byte, error) {
	if d.Question == nil {
		return json.Marshal(Question{})
	}
	q := *d.Question
	q.Choices, q.RightIndexes = d.Choices(), d.RightIndexes()
	return json.Marshal(&q)
}

// ShareQuestion replaces d.Question by an equal known question, so that the memory of the
// former one can be freed. The known question may have another order of choices;
// the order of the match stays. Share reports whether d now uses the known
// question. It can only replace the question of a d that was not shuffled, such
// as a decoded one.
func (d *DrawnQuestion) ShareQuestion(known *Question) bool {
	if d.Question == known || d.order != 0 {
		return d.Question == known
	}
	order, ok := d.findOrder(known)
	if !ok || !d.equalExceptChoices(known) {
		return false
	}
	*d = DrawnQuestion{Question: known, order: order}
	return true
}

// findOrder returns the order in which the choices of known equal those of q.
// Choices are equal if their texts are equal and both or none of them are right.
func (q *Question) findOrder(known *Question) (order choiceOrder, ok bool) {
	if len(q.Choices) != len(known.Choices) || len(q.RightIndexes) != len(known.RightIndexes) || len(q.Choices) > maxOrderedChoices {
		return 0, false
	}
	var isUsed [maxOrderedChoices]bool
	for place, choice := range q.Choices {
		index := known.findChoice(choice, slices.Contains(q.RightIndexes, place), &isUsed)
		if index < 0 {
			return 0, false
		}
		isUsed[index] = true
		order = order.withIndex(place, index)
	}
	return order, true
}

// findChoice returns the index of a choice with this text that is not used yet, or
// -1. The parameter isRight says whether it must be a right choice.
func (q *Question) findChoice(choice string, isRight bool, isUsed *[maxOrderedChoices]bool) int {
	for i, other := range q.Choices {
		if !isUsed[i] && other == choice && slices.Contains(q.RightIndexes, i) == isRight {
			return i
		}
	}
	return -1
}

// equalExceptChoices reports whether two questions are equal in everything
// except their choices.
func (q *Question) equalExceptChoices(other *Question) bool {
	return q.ID == other.ID && q.Text == other.Text && q.Kind == other.Kind &&
		q.Lang == other.Lang && q.Category == other.Category && q.Difficulty == other.Difficulty &&
		q.Explanation == other.Explanation && q.Media == other.Media && q.Source == other.Source && q.Licence == other.Licence &&
		slices.Equal(q.Accepted, other.Accepted) &&
		(q.Target == other.Target || q.Target != nil && other.Target != nil && *q.Target == *other.Target)
}
