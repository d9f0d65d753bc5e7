package redismatch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
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

// The cache is bounded. Used questions stay. An edited question replaces only
// itself.
func TestQuestionCacheIsLimited(t *testing.T) {
	t.Parallel()
	var shared questionCache
	first := decodeQuestion(t, "often", "e")
	shared.share(first)
	long := strings.Repeat("long", 4096)
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := range 250 {
				shared.share([]quiz.DrawnQuestion{{Question: &quiz.Question{ID: fmt.Sprint(worker, i), Text: long + fmt.Sprint(worker, i)}}})
				repeated, edited := decodeQuestion(t, "often", "e"), decodeQuestion(t, "edited", fmt.Sprint(i%2))
				shared.share(repeated)
				shared.share(edited)
				if repeated[0].Question != first[0].Question {
					t.Error("a question that is used all the time was evicted")
					return
				}
				if edited[0].Explanation != fmt.Sprint(i%2) || edited[0].Choices()[*edited[0].Solution().Choice] != "2" {
					t.Errorf("%+v belongs to another match", edited[0])
					return
				}
			}
		})
	}
	running.Wait()
	cachedBytes := 0
	for _, generation := range []map[questionKey]*quiz.Question{shared.current, shared.previous} {
		for _, q := range generation {
			cachedBytes += questionBytes(q)
		}
	}
	if cachedBytes > 2*(generationBytes+2*len(long)) || len(shared.previous) == 0 {
		t.Errorf("%d bytes of questions are kept", cachedBytes)
	}
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
