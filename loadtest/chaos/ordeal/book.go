package ordeal

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"sync"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// book is what all contenders have learnt from closed questions, so that many
// answers are right. It is safe for concurrent use; the zero value is ready.
type book struct {
	mu    sync.Mutex
	known map[string]solution // by the question's text
}

// solution is what is right, whatever the order of the choices.
type solution struct {
	texts []string
	value json.RawMessage
}

// revealed is the `answer` of a closed question, of whatever kind.
type revealed struct {
	Choice    *int            `json:"choice"`
	Choices   []int           `json:"choices"`
	Value     json.RawMessage `json:"value"`
	Tolerance float64         `json:"tolerance"`
	Accepted  []string        `json:"accepted"`
}

func read(answer any) (r revealed) {
	raw, _ := json.Marshal(answer) // it was read from JSON
	_ = json.Unmarshal(raw, &r)    // what is missing is judged as wrong
	return r
}

// indexes are the choices that an answer names.
func (r revealed) indexes() []int {
	if r.Choice != nil {
		return []int{*r.Choice}
	}
	return r.Choices
}

func (b *book) learn(q protocol.Question, c protocol.QuestionClosed) {
	if q.Question != c.Question {
		return
	}
	right := read(c.Answer)
	s := solution{value: right.Value}
	for _, i := range right.indexes() {
		if i < len(q.Choices) {
			s.texts = append(s.texts, q.Choices[i])
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = make(map[string]solution)
	}
	b.known[q.Text] = s
}

// answer is right three times out of four, where the question is known.
func (b *book) answer(dice *rand.Rand, q protocol.Question) protocol.Given {
	b.mu.Lock()
	s, known := b.known[q.Text]
	b.mu.Unlock()
	if !known || dice.IntN(4) == 0 {
		return player.Guess(q)
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
