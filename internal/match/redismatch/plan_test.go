package redismatch

import (
	"encoding/json"
	"testing"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// What is read of a plan, which stays for as long as its match, takes no more than
// it holds.
func TestPlanTakesWhatItHolds(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(match.Plan{Form: match.Form, Questions: make([]quiz.Question, 10)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := planOf(string(raw))
	if err != nil || len(p.Questions) != 10 || cap(p.Questions) > 12 {
		t.Errorf("%d questions in room for %d: %v", len(p.Questions), cap(p.Questions), err)
	}
}
