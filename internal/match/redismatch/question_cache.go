package redismatch

import (
	"runtime"
	"sync"
	"weak"

	"laststand/internal/quiz"
)

// questionCache lets matches share equal questions in memory. Each match has its own
// order of choices. The cache refers to questions weakly: it forgets a question when no
// match has it any more. It is safe for concurrent use; the zero value is empty.
type questionCache struct {
	mu        sync.Mutex
	questions map[questionKey]weak.Pointer[quiz.Question]
}

// questionKey identifies a question. Questions of two banks may have the same
// id.
type questionKey struct{ id, text string }

// share replaces questions that were just read by equal cached ones, and caches
// the others. The caller must be the only user of read.
func (c *questionCache) share(read []quiz.DrawnQuestion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions == nil {
		c.questions = make(map[questionKey]weak.Pointer[quiz.Question])
	}
	for i := range read {
		q := &read[i]
		key := questionKey{q.ID, q.Text}
		if known := c.questions[key].Value(); known == nil || !q.ShareQuestion(known) {
			c.questions[key] = weak.Make(q.Question)
			runtime.AddCleanup(q.Question, c.forget, key)
		}
	}
}

// forget removes a question that no match has any more.
func (c *questionCache) forget(key questionKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions[key].Value() == nil {
		delete(c.questions, key)
	}
}
