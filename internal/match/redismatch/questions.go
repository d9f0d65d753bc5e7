package redismatch

import (
	"sync"

	"laststand/internal/quiz"
)

const (
	// questionsKept is how many bytes a generation holds: those of some 5,000 questions.
	questionsKept = 4 << 20
	// questionCost is what a question takes beside its texts and lists: its record and
	// target, and two entries of a map, of which half may be empty.
	questionCost = 240 + 16 + 2*40
)

// questions lets equal questions be one in memory: matches that draw the same ones,
// each with an order of its own for the choices, share them for as long as they are
// known here. What was not met for as long as questionsKept of others were is
// forgotten. It is safe for concurrent use; the zero value is empty.
type questions struct {
	mu         sync.Mutex
	young, old map[asked]*quiz.Question
	size       int // of young, in bytes
}

// asked is what questions are known by. Those of two banks may have one id.
type asked struct{ id, text string }

// share has questions that were read, and that nobody else has yet, be those that are
// known, or else be known from now on.
func (k *questions) share(read []quiz.Drawn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range read {
		q := &read[i]
		by := asked{q.ID, q.Text}
		known, young := k.young[by]
		if !young {
			known = k.old[by]
		}
		switch {
		case known == nil || !q.Share(known):
			k.keep(fit(q.Question))
		case !young:
			k.keep(known)
		}
	}
}

func (k *questions) keep(q *quiz.Question) {
	if k.young == nil || k.size >= questionsKept {
		k.young, k.old, k.size = make(map[asked]*quiz.Question), k.young, 0
	}
	by := asked{q.ID, q.Text}
	if was := k.young[by]; was != nil { // edited
		k.size -= sizeOf(was)
	}
	k.young[by] = q
	k.size += sizeOf(q)
}

// fit has the lists of a question take no more room than they need.
func fit(q *quiz.Question) *quiz.Question {
	q.Choices, q.Right, q.Accepted = fitted(q.Choices), fitted(q.Right), fitted(q.Accepted)
	return q
}

// sizeOf is how many bytes a question takes.
func sizeOf(q *quiz.Question) int {
	size := questionCost + 8*len(q.Right) + len(q.ID) + len(q.Kind) + len(q.Lang) + len(q.Category) + len(q.Difficulty) +
		len(q.Text) + len(q.Explanation) + len(q.Media) + len(q.Source) + len(q.Licence)
	for _, list := range [][]string{q.Choices, q.Accepted} {
		for _, text := range list {
			size += 16 + len(text)
		}
	}
	return size
}
