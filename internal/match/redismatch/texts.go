package redismatch

import (
	"sync"

	"laststand/internal/quiz"
)

// textsKept is how many texts a generation holds: those of some 3,000 questions.
const textsKept = 1 << 15

// texts lets equal texts be one in memory: matches that draw the same questions have
// the same texts, for as long as they are known here. What was not met for as long as
// textsKept others were is forgotten. It is safe for concurrent use; the zero value
// is empty.
type texts struct {
	mu         sync.Mutex
	young, old map[string]string
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
	if t.young == nil || len(t.young) >= textsKept {
		t.young, t.old = make(map[string]string), t.young
	}
	t.young[text] = text
}
