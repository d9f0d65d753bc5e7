package quiz

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
)

// Drawn is a question as one match asks it: the question, and the match's own
// order of its choices. Choices, Right and the judgement of answers use that
// order. The question's own order is only in Drawn.Question. Drawn is small and
// may be copied.
//
// Drawn questions share the Question with their bank. Decoded ones share it
// with other matches after Share.
//
// Encoded as JSON, a Drawn is a normal question with its choices in the match's
// order. It must be decoded into a zero Drawn, which then has a Question of its
// own. If the JSON is null or has no field of a question, Question stays nil,
// and the caller must set it.
type Drawn struct {
	*Question
	order order
}

// Shuffle draws the question: it puts its choices, also true and false, in a
// random order from rng. Every order is equally likely. With over 16 choices,
// which no valid question has, the order stays. No other goroutine may use rng
// at the same time.
func (q *Question) Shuffle(rng *rand.Rand) Drawn {
	d := Drawn{Question: q}
	if len(q.Choices) <= maxOrdered {
		for place, index := range rng.Perm(len(q.Choices)) {
			d.order = d.order.withIndex(place, index)
		}
	}
	return d
}

// Choices returns the choices in the order of the match.
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

// Right returns the ascending indexes, in Choices, of the right choices.
func (d Drawn) Right() (right []int) {
	for place := range d.Question.Choices {
		if slices.Contains(d.Question.Right, d.order.indexAt(place)) {
			right = append(right, place)
		}
	}
	return right
}

// MarshalJSON encodes the question with the choices in the order of the match.
func (d Drawn) MarshalJSON() ([]byte, error) {
	if d.Question == nil {
		return json.Marshal(Question{})
	}
	q := *d.Question
	q.Choices, q.Right = d.Choices(), d.Right()
	return json.Marshal(&q)
}

// Share replaces d's own question by an equal known one, which may have another
// order of choices. It reports whether d now uses the known question. The order
// of the match stays. Only a question in its own order, such as a decoded one,
// can be replaced.
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

// orderLike returns the order in which the choices of known equal those of q,
// including which of them are right.
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

// findChoice returns the index of a choice that is not taken, or -1.
func (q *Question) findChoice(choice string, right bool, taken *[maxOrdered]bool) int {
	for i, c := range q.Choices {
		if !taken[i] && c == choice && slices.Contains(q.Right, i) == right {
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
