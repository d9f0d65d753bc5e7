package redismatch

import (
	"sync"

	"laststand/internal/quiz"
)

const (
	// textsKept is how many bytes a generation holds: those of some 5,000 questions.
	textsKept = 4 << 20
	// textCost is what a text takes beside its own bytes: the two strings of an
	// entry of a map, of which half may be empty.
	textCost = 64
)

// texts lets equal texts be one in memory: matches that draw the same questions have
// the same texts, for as long as they are known here. What was not met for as long as
// textsKept of others were is forgotten. It is safe for concurrent use; the zero value
// is empty.
type texts struct {
	mu         sync.Mutex
	young, old map[string]string
	size       int // of young, in bytes
}

// share has the texts of questions be those that are known.
func (t *texts) share(questions []quiz.Question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range questions {
		q := &questions[i]
		for _, text := range []*string{
			&q.ID, &q.Lang, &q.Category, &q.Text, &q.Explanation, &q.Media, &q.Source, &q.Licence,
			(*string)(&q.Kind), (*string)(&q.Difficulty),
		} {
			t.one(text)
		}
		for _, list := range [][]string{q.Choices, q.Accepted} {
			for j := range list {
				t.one(&list[j])
			}
		}
	}
}

// one has a text be the one that is known. The caller holds mu.
func (t *texts) one(text *string) {
	if *text == "" {
		return
	}
	known, ok := t.young[*text]
	if !ok {
		if known, ok = t.old[*text]; !ok {
			known = *text
		}
		t.keep(known)
	}
	*text = known
}

func (t *texts) keep(text string) {
	if t.young == nil || t.size >= textsKept {
		t.young, t.old, t.size = make(map[string]string), t.young, 0
	}
	t.young[text] = text
	t.size += len(text) + textCost
}
