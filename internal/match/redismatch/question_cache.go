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
func (c *questionCache) share(read []quiz.DrawnQuestion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range read {
		q := &read[i]
		key := questionKey{q.ID, q.Text}
		known, inCurrent := c.current[key]
		if !inCurrent {
			known = c.previous[key]
		}
		switch {
		case known == nil || !q.ShareQuestion(known):
			c.add(clipLists(q.Question))
		case !inCurrent:
			c.add(known)
		}
	}
}

func (c *questionCache) add(question *quiz.Question) {
	if c.current == nil || c.size >= generationBytes {
		c.current, c.previous, c.size = make(map[questionKey]*quiz.Question), c.current, 0
	}
	key := questionKey{question.ID, question.Text}
	if former := c.current[key]; former != nil { // the question was edited
		c.size -= questionBytes(former)
	}
	c.current[key] = question
	c.size += questionBytes(question)
}

// clipLists removes the unused capacity from the lists of a question.
func clipLists(question *quiz.Question) *quiz.Question {
	question.Choices, question.RightIndexes, question.Accepted = clipCapacity(question.Choices), clipCapacity(question.RightIndexes), clipCapacity(question.Accepted)
	return question
}

// questionBytes is the memory of a question in bytes.
func questionBytes(question *quiz.Question) int {
	size := questionBaseBytes + 8*len(question.RightIndexes) + len(question.ID) + len(question.Kind) + len(question.Lang) + len(question.Category) + len(question.Difficulty) +
		len(question.Text) + len(question.Explanation) + len(question.Media) + len(question.Source) + len(question.Licence)
	for _, list := range [][]string{question.Choices, question.Accepted} {
		for _, text := range list {
			size += 16 + len(text)
		}
	}
	return size
}
