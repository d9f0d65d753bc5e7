package quiz

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
)

// Drawn is a question as one match asks it: the question, which it shares with its
// bank when it was drawn, and with other matches that ask it when it was read, and an
// order of the match's own for its choices. Choices, Right and all that is said of an answer are in that order; the
// question's own are reached by its name alone. It is small, and copied freely.
//
// As JSON it is a question like any other, with its choices in that order. It is read
// into a zero one only, and holds a question of its own then, until Share; one that is read from null or from
// an object without any field of a question holds none, like the zero value, and must
// be given one.
type Drawn struct {
	*Question
	order order
}

// Shuffle draws the question: its choices in an order from rng, every order equally
// likely, of true and false too. Of over 16 choices, which no sound question has, the
// order stays. rng must not be in use elsewhere meanwhile.
func (q *Question) Shuffle(rng *rand.Rand) Drawn {
	d := Drawn{Question: q}
	if len(q.Choices) <= maxOrdered {
		for place, index := range rng.Perm(len(q.Choices)) {
			d.order = d.order.withIndex(place, index)
		}
	}
	return d
}

// Choices returns the choices in the order in which they are asked.
func (d Drawn) Choices() []string {
	if d.Question.Choices == nil {
		return nil
	}
	choices := make([]string, len(d.Question.Choices))
	for place := range choices {
		choices[place] = d.Question.Choices[d.order.indexAt(place)]
	}
	return choices
}

// Right returns the indexes, in Choices, of those that are right, ascending.
func (d Drawn) Right() (right []int) {
	for place := range d.Question.Choices {
		if slices.Contains(d.Question.Right, d.order.indexAt(place)) {
			right = append(right, place)
		}
	}
	return right
}

// MarshalJSON writes the question as it is asked.
func (d Drawn) MarshalJSON() ([]byte, error) {
	if d.Question == nil {
		return json.Marshal(Question{})
	}
	q := *d.Question
	q.Choices, q.Right = d.Choices(), d.Right()
	return json.Marshal(&q)
}

// Share has d hold a known question in the place of its own, if that is the same but
// for the order of its choices, and tells whether it is. d is asked as before. Only one
// in its question's own order, as one that was read, can come to share.
func (d *Drawn) Share(known *Question) bool {
	if d.Question == known || d.order != 0 {
		return d.Question == known
	}
	o, ok := d.orderLike(known)
	if !ok || !d.equalExceptChoices(known) {
		return false
	}
	*d = Drawn{Question: known, order: o}
	return true
}

// orderLike finds the order in which the choices of another question, and which of them
// are right, are those of q.
func (q *Question) orderLike(known *Question) (o order, ok bool) {
	if len(q.Choices) != len(known.Choices) || len(q.Right) != len(known.Right) || len(q.Choices) > maxOrdered {
		return 0, false
	}
	var taken [maxOrdered]bool
	for place, choice := range q.Choices {
		index := known.findChoice(choice, slices.Contains(q.Right, place), &taken)
		if index < 0 {
			return 0, false
		}
		taken[index] = true
		o = o.withIndex(place, index)
	}
	return o, true
}

// findChoice is the index of a choice that is not taken; -1 if there is none.
func (q *Question) findChoice(choice string, right bool, taken *[maxOrdered]bool) int {
	for i, c := range q.Choices {
		if !taken[i] && c == choice && slices.Contains(q.Right, i) == right {
			return i
		}
	}
	return -1
}

// equalExceptChoices tells whether questions are the same but for their choices.
func (q *Question) equalExceptChoices(other *Question) bool {
	return q.ID == other.ID && q.Text == other.Text && q.Kind == other.Kind &&
		q.Lang == other.Lang && q.Category == other.Category && q.Difficulty == other.Difficulty &&
		q.Explanation == other.Explanation && q.Media == other.Media && q.Source == other.Source && q.Licence == other.Licence &&
		slices.Equal(q.Accepted, other.Accepted) &&
		(q.Target == other.Target || q.Target != nil && other.Target != nil && *q.Target == *other.Target)
}
