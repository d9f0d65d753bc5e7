package redismatch

import (
	"encoding/json"
	"testing"
)

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
