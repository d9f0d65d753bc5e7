package quiz

import (
	"math/rand/v2"
	"slices"
)

// Clone returns a copy that shares nothing with q.
func (q *Question) Clone() Question {
	c := *q
	c.Choices = slices.Clone(q.Choices)
	c.Right = slices.Clone(q.Right)
	c.Accepted = slices.Clone(q.Accepted)
	if q.Target != nil {
		target := *q.Target
		c.Target = &target
	}
	return c
}

// Shuffle returns a copy that shares nothing with q, its choices in an order
// drawn from rng (every order equally likely, of true and false too) and Right
// pointing at the same choices as before, ascending. rng must not be in use
// elsewhere meanwhile.
func (q *Question) Shuffle(rng *rand.Rand) Question {
	c := q.Clone()
	places := rng.Perm(len(c.Choices))
	for from, to := range places {
		c.Choices[to] = q.Choices[from]
	}
	for i, from := range c.Right {
		if from >= 0 && from < len(places) {
			c.Right[i] = places[from]
		}
	}
	slices.Sort(c.Right)
	return c
}
