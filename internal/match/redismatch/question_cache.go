package redismatch

import (
	"sync"

	"laststand/internal/quiz"
)

const (
	// generationBytes is the size of a generation, enough for about 5,000
	// questions.
	generationBytes = 4 << 20
	// questionBaseBytes is the memory of a question in addition to its texts
	// and lists: its struct and target, and two map entries, of which half may
	// be empty.
	questionBaseBytes = 240 + 16 + 2*40
)

// questionCache lets matches share equal questions in memory. Each match has
// its own order of choices. The cache has two generations: when the current one
// is full, it replaces the previous one. A question that was not used during a
// full generation is forgotten. The cache is safe for concurrent use; the zero
// value is empty.
type questionCache struct {
	mu                sync.Mutex
	current, previous map[questionKey]*quiz.Question
	size              int // size of current in bytes
}

// questionKey identifies a question. Questions of two banks may have the same
// id.
type questionKey struct{ id, text string }

// share replaces questions that were just read by equal cached ones, and caches
// the others. The caller must be the only user of read.
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
	if former := k.current[key]; former != nil { // the question was edited
		k.size -= sizeOf(former)
	}
	k.current[key] = q
	k.size += sizeOf(q)
}

// clipLists removes the unused capacity from the lists of a question.
func clipLists(q *quiz.Question) *quiz.Question {
	q.Choices, q.Right, q.Accepted = clip(q.Choices), clip(q.Right), clip(q.Accepted)
	return q
}

// sizeOf is the memory of a question in bytes.
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
