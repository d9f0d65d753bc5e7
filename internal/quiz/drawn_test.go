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
		q, one := drawAndShuffle(t, 8)
		before := encodeJSON(t, q)
		other := one.Shuffle(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "other"), 0)))
		shown := encodeJSON(t, other)
		for _, d := range []quiz.DrawnQuestion{one, drawnInOrder(*one.Question)} { // one is shuffled, the other is not
			d.Choices()[0], d.RightIndexes()[0] = "changed", 99
			d.Solution().Choices[0] = 99
		}
		if encodeJSON(t, *one.Question) != before || encodeJSON(t, other) != shown {
			t.Fatalf("%s became %s, %s became %s", before, encodeJSON(t, *one.Question), shown, encodeJSON(t, other))
		}
	})
}

func textsAt(choices []string, indexes []int) []string {
	var right []string
	for _, i := range indexes {
		right = append(right, choices[i])
	}
	slices.Sort(right)
	return right
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
	for _, q := range []quiz.DrawnQuestion{boolean, single} {
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
		q, d := drawAndShuffle(t, 20) // a question with over 16 choices, which is never valid, is not shared
		written := encodeJSON(t, d)
		flat := q
		flat.Choices, flat.RightIndexes = d.Choices(), d.RightIndexes()
		if written != encodeJSON(t, flat) {
			t.Fatalf("%s, want %s", written, encodeJSON(t, flat))
		}
		var read quiz.DrawnQuestion
		if err := json.Unmarshal([]byte(written), &read); err != nil {
			t.Fatal(err)
		}
		checkAlike(t, read, d)
		if shares := read.ShareQuestion(&q); shares != (len(q.Choices) <= 16) || shares && read.Question != &q {
			t.Fatalf("%s shares %+v: %v", written, q, shares)
		}
		checkAlike(t, read, d)
	})
}

// checkAlike checks that two questions have the same text, choices and solution, and that
// IsCorrect returns the same for every set of choices.
func checkAlike(t *rapid.T, a, b quiz.DrawnQuestion) {
	t.Helper()
	if encodeJSON(t, a) != encodeJSON(t, b) || encodeJSON(t, a.Solution()) != encodeJSON(t, b.Solution()) {
		t.Fatalf("%s and %s, %+v and %+v", encodeJSON(t, a), encodeJSON(t, b), a.Solution(), b.Solution())
	}
	n := len(a.Choices())
	for set := range 1 << min(n, 4) {
		form := "m"
		for i := range n {
			if set>>i&1 == 1 {
				form += map[bool]string{true: ":", false: ","}[form == "m"] + fmt.Sprint(i)
			}
		}
		if right := a.IsCorrect(form); right != b.IsCorrect(form) || right != (form == canonicalSet(a.RightIndexes())) {
			t.Fatalf("the answer %s to %s is correct: %v", form, encodeJSON(t, a), right)
		}
	}
	if !a.IsCorrect(canonicalSet(a.RightIndexes())) || !b.IsCorrect(canonicalSet(a.RightIndexes())) {
		t.Fatalf("%s: the answer %v is not correct", encodeJSON(t, a), a.RightIndexes())
	}
}

func canonicalSet(set []int) string {
	return "m:" + strings.Trim(strings.ReplaceAll(fmt.Sprint(set), " ", ","), "[]")
}

// The index of a choice in an answer is its index in the drawn order.
func TestAnswersUseTheOrderOfTheMatch(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		d := single.Shuffle(rng)
		at := slices.Index(d.Choices(), "b")
		for i := range d.Choices() {
			form, err := d.Normalize(quiz.AnswerValue{Choice: &i})
			if err != nil || d.IsCorrect(form) != (i == at) {
				t.Fatalf("%v: choice %d: %v", d.Choices(), i, err)
			}
		}
		if s := d.Solution(); *s.Choice != at {
			t.Fatalf("%v: the solution is choice %d", d.Choices(), *s.Choice)
		}
	}
}

// fullQuestion returns a question with a distinct value in each field.
func fullQuestion() quiz.Question {
	q := quiz.Question{
		Choices: []string{"a", "b", "c"}, RightIndexes: []int{0}, Target: &quiz.Target{Value: 1}, Accepted: []string{"x", "y"},
	}
	for field := range reflect.TypeFor[quiz.Question]().NumField() {
		if v := reflect.ValueOf(&q).Elem().Field(field); v.Kind() == reflect.String {
			v.SetString(fmt.Sprint(field))
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
		v := reflect.ValueOf(&q).Elem().Field(i)
		if v.Kind() == reflect.String {
			v.SetString("other")
		} else {
			v.SetZero()
		}
		checkNotShared(t, fields.Field(i).Name, q, &known)
	}
	for what, change := range map[string]func(q *quiz.Question){
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
		checkNotShared(t, what, q, &known)
	}
	twin := fullQuestion()
	same := drawnInOrder(twin)
	if !same.ShareQuestion(&known) || same.Question != &known || !same.ShareQuestion(&known) {
		t.Error("ShareQuestion does not share an equal question")
	}
	if shuffled := twin.Shuffle(rand.New(rand.NewPCG(7, 7))); shuffled.ShareQuestion(&known) || shuffled.Question != &twin {
		t.Error("ShareQuestion shares a question that was shuffled and not decoded")
	}
}

func checkNotShared(t *testing.T, change string, q quiz.Question, known *quiz.Question) {
	t.Helper()
	d, before := drawnInOrder(q), encodeJSON(t, drawnInOrder(q))
	if d.ShareQuestion(known) || d.Question == known || encodeJSON(t, d) != before {
		t.Errorf("%s: %s shares %s", change, before, encodeJSON(t, known))
	}
}

// If choices have equal texts, ShareQuestion distinguishes right from wrong ones.
func TestEqualChoicesAreSharedByCorrectness(t *testing.T) {
	t.Parallel()
	known := quiz.Question{Choices: []string{"a", "a", "b"}, RightIndexes: []int{1}}
	d := drawnInOrder(quiz.Question{Choices: []string{"b", "a", "a"}, RightIndexes: []int{1}})
	if !d.ShareQuestion(&known) || !slices.Equal(d.Choices(), []string{"b", "a", "a"}) || !slices.Equal(d.RightIndexes(), []int{1}) {
		t.Errorf("%s", encodeJSON(t, d))
	}
}

// JSON without any field of a question is decoded as no question. Missing fields are not an
// error.
func TestADrawnQuestionIsDecodedWithMissingFields(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{`null`: false, `{}`: false, `{"new":1}`: false, `{"id":"q"}`: true, `{"right":[1]}`: true} {
		var d quiz.DrawnQuestion
		if err := json.Unmarshal([]byte(raw), &d); err != nil || (d.Question != nil) != want {
			t.Errorf("%s: %v, %v", raw, d.Question, err)
		}
		if !want && encodeJSON(t, d) != encodeJSON(t, quiz.Question{}) {
			t.Errorf("%s is written as %s", raw, encodeJSON(t, d))
		}
	}
}
