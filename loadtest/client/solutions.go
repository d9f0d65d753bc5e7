package client

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"laststand/internal/protocol"
)

// Solutions are the right answers that players have learnt from closed questions, so
// that many answers are right. It is safe for concurrent use; the zero value is ready.
type Solutions struct {
	mu     sync.Mutex
	byText map[string]solution // by the question's text
}

// solution is a right answer; it does not depend on the order of the choices.
type solution struct {
	texts []string
	value json.RawMessage
}

// CorrectAnswer is the `answer` of a closed question of any kind.
type CorrectAnswer struct {
	Choice    *int            `json:"choice"`
	Choices   []int           `json:"choices"`
	Value     json.RawMessage `json:"value"`
	Tolerance float64         `json:"tolerance"`
	Accepted  []string        `json:"accepted"`
}

// DecodeCorrectAnswer decodes an answer.
func DecodeCorrectAnswer(answer any) (r CorrectAnswer) {
	raw, _ := json.Marshal(answer) // it came from JSON
	_ = json.Unmarshal(raw, &r)    // a missing field counts as wrong
	return r
}

// indexes returns the choices that an answer names.
func (r CorrectAnswer) indexes() []int {
	if r.Choice != nil {
		return []int{*r.Choice}
	}
	return r.Choices
}

// Learn records a question and its close.
func (b *Solutions) Learn(q protocol.Question, c protocol.QuestionClosed) {
	if q.Question != c.Question {
		return
	}
	right := DecodeCorrectAnswer(c.Answer)
	s := solution{value: right.Value}
	for _, i := range right.indexes() {
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

// Answer is right three times out of four if the question is known.
func (b *Solutions) Answer(dice *rand.Rand, q protocol.Question) protocol.Given {
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

// IsCorrect says whether an answer that Answer returned is right.
func (r CorrectAnswer) IsCorrect(given json.RawMessage) bool {
	var g protocol.Given
	if json.Unmarshal(given, &g) != nil {
		return false
	}
	if g.Choice != nil {
		return r.Choice != nil && *g.Choice == *r.Choice
	}
	if len(g.Choices) > 0 {
		return slices.Equal(slices.Sorted(slices.Values(g.Choices)), slices.Sorted(slices.Values(r.Choices)))
	}
	var number, right float64
	if json.Unmarshal(g.Value, &number) == nil && json.Unmarshal(r.Value, &right) == nil {
		return number >= right-r.Tolerance && number <= right+r.Tolerance
	}
	var text, best string
	if json.Unmarshal(g.Value, &text) != nil || json.Unmarshal(r.Value, &best) != nil {
		return false
	}
	return slices.ContainsFunc(append(r.Accepted, best), func(one string) bool { return strings.EqualFold(one, text) })
}

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
