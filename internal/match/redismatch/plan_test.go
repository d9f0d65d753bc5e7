package redismatch

import (
	"encoding/json"
	"slices"
	"testing"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// What is read of a plan, which stays for as long as its match, takes no more than
// it holds.
func TestPlanTakesWhatItHolds(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(match.Plan{Form: match.Form, Questions: slices.Repeat([]quiz.Question{{
		Choices: []string{"a", "b"}, Right: []int{1}, Accepted: []string{"c"},
	}}, 10)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := planOf(string(raw))
	if err != nil || len(p.Questions) != 10 || cap(p.Questions) > 12 {
		t.Fatalf("%d questions in room for %d: %v", len(p.Questions), cap(p.Questions), err)
	}
	for _, q := range p.Questions {
		if len(q.Choices) != 2 || cap(q.Choices) > 2 || len(q.Right) != 1 || cap(q.Right) > 1 || len(q.Accepted) != 1 || cap(q.Accepted) > 1 {
			t.Fatalf("%+v in room for %d, %d, %d", q, cap(q.Choices), cap(q.Right), cap(q.Accepted))
		}
	}
}
