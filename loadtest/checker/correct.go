package checker

import (
	"encoding/json"
	"slices"
	"strings"

	"laststand/internal/protocol"
)

// CorrectAnswer is the `answer` of a closed question of any kind.
type CorrectAnswer struct {
	Choice    *int            `json:"choice"`
	Choices   []int           `json:"choices"`
	Value     json.RawMessage `json:"value"`
	Tolerance float64         `json:"tolerance"`
	Accepted  []string        `json:"accepted"`
}

// DecodeCorrectAnswer decodes a correct answer.
func DecodeCorrectAnswer(correct any) (r CorrectAnswer) {
	raw, _ := json.Marshal(correct) // it came from JSON
	_ = json.Unmarshal(raw, &r)     // a missing field counts as wrong
	return r
}

// Indexes returns the right choices.
func (r CorrectAnswer) Indexes() []int {
	if r.Choice != nil {
		return []int{*r.Choice}
	}
	return r.Choices
}

// IsCorrect reports whether an answer is right.
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
