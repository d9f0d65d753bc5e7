package redismatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// planRaw returns a stored plan of ten questions of usual length.
func planRaw(t testing.TB) string {
	t.Helper()
	p := match.Plan{Form: match.Form, ID: "m_1", Game: "demo", Mode: match.Duel, Seats: []match.Seat{{Player: "p_ada"}, {Player: "p_bob"}}}
	for i := range 10 {
		p.Questions = append(p.Questions, quiz.Drawn{Question: &quiz.Question{
			ID: fmt.Sprint("q_", i), Kind: quiz.Single, Lang: "en", Category: "Science", Difficulty: quiz.Easy,
			Text: fmt.Sprint(strings.Repeat("What is it? ", 6), i), Explanation: strings.Repeat("So it is. ", 10),
			Choices: []string{"the first", "the second", "the third", "the fourth"}, Right: []int{2}, Licence: "CC0-1.0",
		}})
	}
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A decoded plan, which stays in memory as long as its match, uses no more
// memory than its content needs.
func TestPlanSize(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(match.Plan{Form: match.Form, Questions: slices.Repeat([]quiz.Drawn{{Question: &quiz.Question{
		Choices: []string{"a", "b", "c"}, Right: []int{0, 1, 2}, Accepted: []string{"d", "e", "f"},
	}}}, 10)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := planOf(string(raw))
	if err != nil || len(p.Questions) != 10 || cap(p.Questions) > 12 {
		t.Fatalf("%d questions in room for %d: %v", len(p.Questions), cap(p.Questions), err)
	}
	new(questionCache).share(p.Questions)
	for _, d := range p.Questions {
		if q := d.Question; len(q.Choices) != 3 || cap(q.Choices) > 3 || len(q.Right) != 3 || cap(q.Right) > 3 || len(q.Accepted) != 3 || cap(q.Accepted) > 3 {
			t.Fatalf("%+v in room for %d, %d, %d", q, cap(q.Choices), cap(q.Right), cap(q.Accepted))
		}
	}
}

// Plans of earlier versions are decoded, whose questions had their choices in
// the order of the match. So is a plan with empty questions.
func TestPlanIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	const before = `{"form":3,"id":"m_1","game":"demo","mode":"duel","questions":[` +
		`{"id":"q_1","kind":"single","lang":"en","category":"c","difficulty":"easy","text":"Which?","choices":["b","a"],"right":[1],"source":"s"},` +
		`{"id":"q_2","kind":"number","lang":"en","category":"c","difficulty":"hard","text":"How many?","target":{"value":3,"tolerance":0.5}}],` +
		`"seats":null,"starts_at":0,"limit_ms":0,"countdown_ms":0,"reveal_ms":0,"rated":false,"counts":false}`
	p, err := planOf(before)
	if err != nil {
		t.Fatal(err)
	}
	new(questionCache).share(p.Questions)
	if again, err := json.Marshal(p); err != nil || string(again) != before {
		t.Errorf("%s, %v", again, err)
	}
	if q := p.Questions[0]; !q.Correct("c:1") || q.Correct("c:0") || !p.Questions[1].Correct("n:3.5") {
		t.Errorf("%+v is judged otherwise", q)
	}
	p, err = planOf(`{"form":3,"questions":[null,{},{"new":1}]}`)
	if err != nil || len(p.Questions) != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	new(questionCache).share(p.Questions)
	for _, q := range p.Questions {
		if q.Text != "" || len(q.Choices()) != 0 || q.Correct("c:0") {
			t.Errorf("%+v", q)
		}
	}
}

// BenchmarkPlan measures what a node does once with the plan of each match that
// it loads.
func BenchmarkPlan(b *testing.B) {
	raw := planRaw(b)
	var shared questionCache
	b.ReportAllocs()
	for b.Loop() {
		p, err := planOf(raw)
		if err != nil {
			b.Fatal(err)
		}
		shared.share(p.Questions)
	}
}
