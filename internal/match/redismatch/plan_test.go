package redismatch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// encodedPlan returns a plan as it is stored, with ten questions of usual length.
func encodedPlan(t testing.TB) string {
	t.Helper()
	plan := match.Plan{Form: match.CurrentForm, ID: "m_1", Game: "demo", Mode: match.Duel, Seats: []match.Seat{{Player: "p_ada"}, {Player: "p_bob"}}}
	for i := range 10 {
		plan.Questions = append(plan.Questions, quiz.DrawnQuestion{Question: &quiz.Question{
			ID: fmt.Sprint("q_", i), Kind: quiz.Single, Lang: "en", Category: "Science", Difficulty: quiz.Easy,
			Text: fmt.Sprint(strings.Repeat("What is it? ", 6), i), Explanation: strings.Repeat("So it is. ", 10),
			Choices: []string{"the first", "the second", "the third", "the fourth"}, RightIndexes: []int{2}, Licence: "CC0-1.0",
		}})
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Plans of earlier versions are decoded, whose questions had their choices in
// the order of the match. So is a plan with empty questions.
func TestPlansOfEarlierVersionsAreDecoded(t *testing.T) {
	t.Parallel()
	const earlierPlan = `{"form":4,"id":"m_1","game":"demo","mode":"duel","questions":[` +
		`{"id":"q_1","kind":"single","lang":"en","category":"c","difficulty":"easy","text":"Which?","choices":["b","a"],"right":[1],"source":"s"},` +
		`{"id":"q_2","kind":"number","lang":"en","category":"c","difficulty":"hard","text":"How many?","target":{"value":3,"tolerance":0.5}}],` +
		`"seats":null,"starts_at":0,"limit_ms":0,"countdown_ms":0,"reveal_ms":0,"rated":false,"counts":false}`
	plan, err := decodePlan(earlierPlan)
	if err != nil {
		t.Fatal(err)
	}
	new(questionCache).share(plan.Questions)
	if reencoded, err := json.Marshal(plan); err != nil || string(reencoded) != earlierPlan {
		t.Errorf("%s, %v", reencoded, err)
	}
	if q := plan.Questions[0]; !q.IsCorrect("c:1") || q.IsCorrect("c:0") || !plan.Questions[1].IsCorrect("n:3.5") {
		t.Errorf("%+v has other right answers", q)
	}
	plan, err = decodePlan(`{"form":4,"questions":[null,{},{"new":1}]}`)
	if err != nil || len(plan.Questions) != 3 {
		t.Fatalf("%+v, %v", plan, err)
	}
	new(questionCache).share(plan.Questions)
	for _, q := range plan.Questions {
		if q.Text != "" || len(q.Choices()) != 0 || q.IsCorrect("c:0") {
			t.Errorf("%+v", q)
		}
	}
}

// BenchmarkPlan measures what a node does once with the plan of each match that
// it loads.
func BenchmarkPlan(b *testing.B) {
	raw := encodedPlan(b)
	var shared questionCache
	b.ReportAllocs()
	for b.Loop() {
		plan, err := decodePlan(raw)
		if err != nil {
			b.Fatal(err)
		}
		shared.share(plan.Questions)
	}
}
