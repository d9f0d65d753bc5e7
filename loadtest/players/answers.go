package players

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// ArbitraryAnswer returns a well-formed answer to a question of any kind. It is right only
// by chance.
func ArbitraryAnswer(q protocol.Question) protocol.Given {
	zero := 0
	switch q.Kind {
	case "single", "boolean":
		return protocol.Given{Choice: &zero}
	case "multiple":
		return protocol.Given{Choices: []int{0}}
	case "number":
		return protocol.Given{Value: json.RawMessage("42")}
	}
	return protocol.Given{Value: json.RawMessage(`"guess"`)}
}

// OtherAnswer returns an answer to the question that differs from the given one.
func OtherAnswer(q protocol.Question, g protocol.Given) protocol.Given {
	switch {
	case g.Choice != nil:
		next := (*g.Choice + 1) % len(q.Choices)
		return protocol.Given{Choice: &next}
	case len(g.Choices) == 1:
		return protocol.Given{Choices: []int{(g.Choices[0] + 1) % len(q.Choices)}}
	case len(g.Choices) > 1:
		return protocol.Given{Choices: g.Choices[:1]}
	case q.Kind == "number":
		return protocol.Given{Value: json.RawMessage("-77")}
	}
	return protocol.Given{Value: json.RawMessage(`"something else"`)}
}

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
