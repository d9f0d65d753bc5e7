package quiz_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// drawAndShuffle generates a question with up to the given number of choices. It returns the
// question, and an equal one that is shuffled.
func drawAndShuffle(t *rapid.T, choices int) (quiz.Question, quiz.DrawnQuestion) {
	q := quiz.Question{
		ID: "q", Kind: quiz.Multiple, Lang: "en", Category: "c", Difficulty: quiz.Hard, Text: "Which?", Explanation: "So.",
		Choices: rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,5}`), 2, choices, rapid.ID).Draw(t, "choices"),
	}
	q.RightIndexes = rapid.SliceOfNDistinct(rapid.IntRange(0, len(q.Choices)-1), 1, len(q.Choices), rapid.ID).Draw(t, "right")
	same := q
	same.Choices, same.RightIndexes = slices.Clone(q.Choices), slices.Clone(q.RightIndexes)
	return q, same.Shuffle(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
}

func TestShuffleKeepsTheRightChoices(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, shuffled := drawAndShuffle(t, 20)
		if encodeJSON(t, *shuffled.Question) != encodeJSON(t, q) {
			t.Fatalf("the question itself became %+v", *shuffled.Question)
		}
		if !slices.Equal(textsAt(shuffled.Choices(), shuffled.RightIndexes()), textsAt(q.Choices, q.RightIndexes)) {
			t.Fatalf("%+v became %s", q, encodeJSON(t, shuffled))
		}
		if !slices.IsSorted(shuffled.RightIndexes()) || !haveSameElements(shuffled.Choices(), q.Choices) || !slices.Equal(shuffled.Solution().Choices, shuffled.RightIndexes()) {
			t.Fatalf("%+v became %s", q, encodeJSON(t, shuffled))
		}
	})
}

// A caller that changes the slices of a drawn question changes neither the question nor other
// drawn questions.
func TestShuffleNeverChangesTheQuestion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, shuffled := drawAndShuffle(t, 8)
		before := encodeJSON(t, q)
		shuffledAgain := shuffled.Shuffle(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "other"), 0)))
		encodedBefore := encodeJSON(t, shuffledAgain)
		for _, drawn := range []quiz.DrawnQuestion{shuffled, drawnInOrder(*shuffled.Question)} { // one is shuffled, the other is not
			drawn.Choices()[0], drawn.RightIndexes()[0] = "changed", 99
			drawn.Solution().Choices[0] = 99
		}
		if encodeJSON(t, *shuffled.Question) != before || encodeJSON(t, shuffledAgain) != encodedBefore {
			t.Fatalf("%s became %s, %s became %s", before, encodeJSON(t, *shuffled.Question), encodedBefore, encodeJSON(t, shuffledAgain))
		}
	})
}

func textsAt(choices []string, indexes []int) []string {
	var texts []string
	for _, i := range indexes {
		texts = append(texts, choices[i])
	}
	slices.Sort(texts)
	return texts
}

func haveSameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func encodeJSON(t rapid.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestShuffleReachesEveryOrder(t *testing.T) {
	t.Parallel()
	for _, q := range []quiz.DrawnQuestion{booleanQuestion, singleQuestion} {
		orders := 1
		for n := 2; n <= len(q.Choices()); n++ {
			orders *= n
		}
		rng := rand.New(rand.NewPCG(1, 2))
		seen := make(map[string]int)
		for range 100 * orders {
			seen[strings.Join(q.Shuffle(rng).Choices(), ",")]++
		}
		if len(seen) != orders {
			t.Errorf("%s: %d orders of %d", q.Kind, len(seen), orders)
		}
		for order, times := range seen {
			if times < 50 || times > 150 {
				t.Errorf("%s: order %s came %d times, 100 expected", q.Kind, order, times)
			}
		}
	}
}

// A drawn question is encoded like a question whose choices have the drawn order. The decoded one
// has the same order.
func TestADrawnQuestionIsEncodedAsAQuestion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, drawn := drawAndShuffle(t, 20)
		encoded := encodeJSON(t, drawn)
		reordered := q
		reordered.Choices, reordered.RightIndexes = drawn.Choices(), drawn.RightIndexes()
		if encoded != encodeJSON(t, reordered) {
			t.Fatalf("%s, want %s", encoded, encodeJSON(t, reordered))
		}
		var decoded quiz.DrawnQuestion
		if err := json.Unmarshal([]byte(encoded), &decoded); err != nil {
			t.Fatal(err)
		}
		checkSameBehaviour(t, decoded, drawn)
		if !decoded.ShareQuestion(&q) || decoded.Question != &q {
			t.Fatalf("%s does not share %+v", encoded, q)
		}
		checkSameBehaviour(t, decoded, drawn)
	})
}

// checkSameBehaviour checks that two questions have the same text, choices and solution, and that
// IsCorrect returns the same for every set of choices.
func checkSameBehaviour(t *rapid.T, a, b quiz.DrawnQuestion) {
	t.Helper()
	if encodeJSON(t, a) != encodeJSON(t, b) || encodeJSON(t, a.Solution()) != encodeJSON(t, b.Solution()) {
		t.Fatalf("%s and %s, %+v and %+v", encodeJSON(t, a), encodeJSON(t, b), a.Solution(), b.Solution())
	}
	n := len(a.Choices())
	for bits := range 1 << min(n, 4) {
		form := "m"
		for i := range n {
			if bits>>i&1 == 1 {
				form += map[bool]string{true: ":", false: ","}[form == "m"] + fmt.Sprint(i)
			}
		}
		if right := a.IsCorrect(form); right != b.IsCorrect(form) || right != (form == canonicalForm(a.RightIndexes())) {
			t.Fatalf("the answer %s to %s is correct: %v", form, encodeJSON(t, a), right)
		}
	}
	if !a.IsCorrect(canonicalForm(a.RightIndexes())) || !b.IsCorrect(canonicalForm(a.RightIndexes())) {
		t.Fatalf("%s: the answer %v is not correct", encodeJSON(t, a), a.RightIndexes())
	}
}

func canonicalForm(indexes []int) string {
	return "m:" + strings.Trim(strings.ReplaceAll(fmt.Sprint(indexes), " ", ","), "[]")
}

// The index of a choice in an answer is its index in the drawn order.
func TestAnswersUseTheOrderOfTheDrawnQuestion(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		drawn := singleQuestion.Shuffle(rng)
		rightIndex := slices.Index(drawn.Choices(), "b")
		for i := range drawn.Choices() {
			form, err := drawn.Normalize(protocol.Given{Choice: &i})
			if err != nil || drawn.IsCorrect(form) != (i == rightIndex) {
				t.Fatalf("%v: choice %d: %v", drawn.Choices(), i, err)
			}
		}
		if solution := drawn.Solution(); *solution.Choice != rightIndex {
			t.Fatalf("%v: the solution is choice %d", drawn.Choices(), *solution.Choice)
		}
	}
}

// fullQuestion returns a question with a distinct value in each field.
func fullQuestion() quiz.Question {
	q := quiz.Question{
		Choices: []string{"a", "b", "c"}, RightIndexes: []int{0}, Target: &quiz.Target{Value: 1}, Accepted: []string{"x", "y"},
	}
	for field := range reflect.TypeFor[quiz.Question]().NumField() {
		if value := reflect.ValueOf(&q).Elem().Field(field); value.Kind() == reflect.String {
			value.SetString(fmt.Sprint(field))
		}
	}
	return q
}

// ShareQuestion does not share questions that differ in any field.
func TestOnlyEqualQuestionsAreShared(t *testing.T) {
	t.Parallel()
	known := fullQuestion()
	fields := reflect.TypeFor[quiz.Question]()
	for i := range fields.NumField() {
		q := fullQuestion()
		value := reflect.ValueOf(&q).Elem().Field(i)
		if value.Kind() == reflect.String {
			value.SetString("other")
		} else {
			value.SetZero()
		}
		checkNotShared(t, fields.Field(i).Name, q, &known)
	}
	for name, change := range map[string]func(q *quiz.Question){
		"another target":                     func(q *quiz.Question) { q.Target.Value = 2 },
		"another tolerance":                  func(q *quiz.Question) { q.Target.Tolerance = 2 },
		"another order of accepted texts":    func(q *quiz.Question) { q.Accepted[0], q.Accepted[1] = q.Accepted[1], q.Accepted[0] },
		"another choice":                     func(q *quiz.Question) { q.Choices[1] = "d" },
		"a choice twice":                     func(q *quiz.Question) { q.Choices[1] = "c" },
		"another right choice":               func(q *quiz.Question) { q.RightIndexes[0] = 2 },
		"another text of the right choice":   func(q *quiz.Question) { q.Choices[0], q.Choices[1] = q.Choices[1], q.Choices[0] },
		"one more right choice":              func(q *quiz.Question) { q.RightIndexes = []int{0, 1} },
		"right index out of range":           func(q *quiz.Question) { q.RightIndexes[0] = 99 },
		"one more right index, out of range": func(q *quiz.Question) { q.RightIndexes = []int{0, 99} },
		"one more choice":                    func(q *quiz.Question) { q.Choices = append(q.Choices, "d") },
	} {
		q := fullQuestion()
		change(&q)
		checkNotShared(t, name, q, &known)
	}
	twin := fullQuestion()
	drawn := drawnInOrder(twin)
	if !drawn.ShareQuestion(&known) || drawn.Question != &known || !drawn.ShareQuestion(&known) {
		t.Error("ShareQuestion does not share an equal question")
	}
	if shuffled := twin.Shuffle(rand.New(rand.NewPCG(7, 7))); shuffled.ShareQuestion(&known) || shuffled.Question != &twin {
		t.Error("ShareQuestion shares a question that was shuffled and not decoded")
	}
}

func checkNotShared(t *testing.T, change string, q quiz.Question, known *quiz.Question) {
	t.Helper()
	drawn, before := drawnInOrder(q), encodeJSON(t, drawnInOrder(q))
	if drawn.ShareQuestion(known) || drawn.Question == known || encodeJSON(t, drawn) != before {
		t.Errorf("%s: %s shares %s", change, before, encodeJSON(t, known))
	}
}

// If choices have equal texts, ShareQuestion distinguishes right from wrong ones.
func TestEqualChoicesAreSharedByCorrectness(t *testing.T) {
	t.Parallel()
	known := quiz.Question{Choices: []string{"a", "a", "b"}, RightIndexes: []int{1}}
	drawn := drawnInOrder(quiz.Question{Choices: []string{"b", "a", "a"}, RightIndexes: []int{1}})
	if !drawn.ShareQuestion(&known) || !slices.Equal(drawn.Choices(), []string{"b", "a", "a"}) || !slices.Equal(drawn.RightIndexes(), []int{1}) {
		t.Errorf("%s", encodeJSON(t, drawn))
	}
}

// JSON without any field of a question is decoded as no question. Missing fields are not an
// error.
func TestADrawnQuestionIsDecodedWithMissingFields(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{`null`: false, `{}`: false, `{"new":1}`: false, `{"id":"q"}`: true, `{"right":[1]}`: true} {
		var drawn quiz.DrawnQuestion
		if err := json.Unmarshal([]byte(raw), &drawn); err != nil || (drawn.Question != nil) != want {
			t.Errorf("%s: %v, %v", raw, drawn.Question, err)
		}
		if !want && encodeJSON(t, drawn) != encodeJSON(t, quiz.Question{}) {
			t.Errorf("%s is written as %s", raw, encodeJSON(t, drawn))
		}
	}
}
