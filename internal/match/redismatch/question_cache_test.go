package redismatch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// decodeQuestion decodes a question in an order of its own, as from a plan.
func decodeQuestion(t *testing.T, text, explanation string) []quiz.DrawnQuestion {
	t.Helper()
	q := quiz.Question{
		ID: "q", Kind: quiz.Single, Lang: "en", Category: "c", Difficulty: quiz.Easy, Text: text, Explanation: explanation,
		Choices: []string{"1", "2", "3", "4"}, RightIndexes: []int{1},
	}
	raw, err := json.Marshal(q.Shuffle(rand.New(rand.NewPCG(rand.Uint64(), 1))))
	if err != nil {
		t.Error(err)
	}
	decoded := make([]quiz.DrawnQuestion, 1)
	if err := json.Unmarshal(raw, &decoded[0]); err != nil {
		t.Error(err)
	}
	return decoded
}

// Two matches share a question in memory even if they show its choices in different
// orders. A question that was edited in between is not shared.
func TestQuestionsAreShared(t *testing.T) {
	t.Parallel()
	var shared questionCache
	var first *quiz.Question
	edits := [][2]string{{"x", "e"}, {"y", "e"}, {"x", "f"}}
	for i := range 60 {
		edit := edits[i/20]
		question := decodeQuestion(t, edit[0], edit[1])
		choices, solution := strings.Join(question[0].Choices(), ""), *question[0].Solution().Choice
		shared.share(question)
		if i%20 == 0 {
			first = question[0].Question
		}
		if question[0].Question != first {
			t.Fatal("equal questions are not shared")
		}
		if strings.Join(question[0].Choices(), "") != choices || *question[0].Solution().Choice != solution || question[0].Choices()[solution] != "2" {
			t.Fatalf("%s became %s, of which %d was right", choices, question[0].Choices(), solution)
		}
		if question[0].Text != edit[0] || question[0].Explanation != edit[1] {
			t.Fatalf("%v became %+v", edit, question[0])
		}
	}
}

// Two banks may use the same ids. Questions of both are cached.
func TestQuestionsWithEqualIDsAreCached(t *testing.T) {
	t.Parallel()
	var shared questionCache
	cached := make(map[string]*quiz.Question)
	for i := range 20 {
		text := fmt.Sprint("bank ", i%2)
		question := decodeQuestion(t, text, "e")
		shared.share(question)
		if i < 2 {
			cached[text] = question[0].Question
		}
		if question[0].Question != cached[text] {
			t.Fatalf("the questions of %s are not shared", text)
		}
	}
}

// A question that no match has any more is forgotten. Used questions stay.
func TestUnusedQuestionsAreForgotten(t *testing.T) {
	t.Parallel()
	var shared questionCache
	first := decodeQuestion(t, "often", "e")
	shared.share(first)
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := range 250 {
				shared.share(decodeQuestion(t, fmt.Sprint(worker, i), "e"))
				repeated := decodeQuestion(t, "often", "e")
				shared.share(repeated)
				if repeated[0].Question != first[0].Question {
					t.Error("a used question was forgotten")
				}
			}
		})
	}
	running.Wait()
	count := func() int {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		return len(shared.questions)
	}
	for range 1000 {
		if runtime.GC(); count() == 1 {
			break
		}
		runtime.Gosched()
	}
	if n := count(); n != 1 {
		t.Errorf("%d questions are cached, 1 is used", n)
	}
	runtime.KeepAlive(first)
}

// A store shares equal questions of all matches.
func TestPlansShareQuestions(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		first, second := m.readPlan(), m.readPlan()
		if len(first.Questions) == 0 {
			m.Fatal("no questions")
		}
		for i := range first.Questions {
			if first.Questions[i].Question != second.Questions[i].Question {
				m.Errorf("question %d is not shared", i)
			}
		}
	})
}

func (m *testMatch) readPlan() *match.Plan {
	m.Helper()
	view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, WantPlan: true})
	if err != nil {
		m.Fatal(err)
	}
	return view.Plan
}
