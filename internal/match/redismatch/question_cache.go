package redismatch

import (
	"sync"

	"laststand/internal/quiz"
)

const (
	// questionsKept is how many bytes a generation holds: those of some 5,000 questions.
	generationBytes = 4 << 20
	// questionCost is what a question takes beside its texts and lists: its record and
	// target, and two entries of a map, of which half may be empty.
	questionBaseBytes = 240 + 16 + 2*40
)

// questionCache lets equal questions be one in memory: matches that draw the same ones,
// each with an order of its own for the choices, share them for as long as they are
// known here. What was not met for as long as questionsKept of others were is
// forgotten. It is safe for concurrent use; the zero value is empty.
type questionCache struct {
	mu                sync.Mutex
	current, previous map[questionKey]*quiz.Question
	size              int // of young, in bytes
}

// questionKey is what questions are known by. Those of two banks may have one id.
type questionKey struct{ id, text string }

// share has questions that were read, and that nobody else has yet, be those that are
// known, or else be known from now on.
func (k *questionCache) share(read []quiz.Drawn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range read {
		q := &read[i]
		key := questionKey{q.ID, q.Text}
		known, inCurrent := k.current[key]
		if !inCurrent {
			known = k.previous[key]
		}
		switch {
		case known == nil || !q.Share(known):
			k.add(clipLists(q.Question))
		case !inCurrent:
			k.add(known)
		}
	}
}

func (k *questionCache) add(q *quiz.Question) {
	if k.current == nil || k.size >= generationBytes {
		k.current, k.previous, k.size = make(map[questionKey]*quiz.Question), k.current, 0
	}
	key := questionKey{q.ID, q.Text}
	if former := k.current[key]; former != nil { // edited
		k.size -= sizeOf(former)
	}
	k.current[key] = q
	k.size += sizeOf(q)
}

// clipLists has the lists of a question take no more room than they need.
func clipLists(q *quiz.Question) *quiz.Question {
	q.Choices, q.Right, q.Accepted = clip(q.Choices), clip(q.Right), clip(q.Accepted)
	return q
}

// sizeOf is how many bytes a question takes.
func sizeOf(q *quiz.Question) int {
	size := questionBaseBytes + 8*len(q.Right) + len(q.ID) + len(q.Kind) + len(q.Lang) + len(q.Category) + len(q.Difficulty) +
		len(q.Text) + len(q.Explanation) + len(q.Media) + len(q.Source) + len(q.Licence)
	for _, list := range [][]string{q.Choices, q.Accepted} {
		for _, text := range list {
			size += 16 + len(text)
		}
	}
	return size
}
