package players

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// solutions are the right answers that players have learnt from closed questions, so
// that many answers are right. It is safe for concurrent use; the zero value is empty.
type solutions struct {
	mu     sync.Mutex
	byText map[string]solution // by the question's text
}

// solution is a right answer; it does not depend on the order of the choices.
type solution struct {
	texts []string
	value json.RawMessage
}

// learn records a question and its close.
func (b *solutions) learn(q protocol.Question, c protocol.QuestionClosed) {
	if q.Question != c.Question {
		return
	}
	right := checker.DecodeCorrectAnswer(c.Answer)
	s := solution{value: right.Value}
	for _, i := range right.Indexes() {
		if i < len(q.Choices) {
			s.texts = append(s.texts, q.Choices[i])
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byText == nil {
		b.byText = make(map[string]solution)
	}
	b.byText[q.Text] = s
}

// answer is right three times out of four if the question is known.
func (b *solutions) answer(dice *rand.Rand, q protocol.Question) protocol.Given {
	b.mu.Lock()
	s, known := b.byText[q.Text]
	b.mu.Unlock()
	if !known || dice.IntN(4) == 0 {
		return ArbitraryAnswer(q)
	}
	var right []int
	for i, text := range q.Choices {
		if slices.Contains(s.texts, text) {
			right = append(right, i)
		}
	}
	switch {
	case q.Kind == "multiple" && len(right) > 0:
		return protocol.Given{Choices: right}
	case len(right) > 0:
		return protocol.Given{Choice: &right[0]}
	}
	return protocol.Given{Value: s.value}
}
