package quiz_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/quiz"
)

func newRand() *rand.Rand { return rand.New(rand.NewPCG(3, 5)) }

func samplePool() *quiz.Pool {
	return newPool(
		numberedQuestions("a", "en", "History", quiz.Easy, 20),
		numberedQuestions("b", "en-GB", "history", quiz.Hard, 10),
		numberedQuestions("c", "zh-CN", "历史", quiz.Easy, 30),
		append(numberedQuestions("d", "zh-TW", "Science", quiz.Easy, 5), numberedQuestions("a", "fr", "Twice", quiz.Easy, 20)...),
	)
}

func TestPoolCountsMatchingQuestions(t *testing.T) {
	t.Parallel()
	pool := samplePool()
	for _, test := range []struct {
		filter quiz.Filter
		want   int
	}{
		{quiz.Filter{Lang: "en"}, 30},
		{quiz.Filter{Lang: "EN-gb"}, 10},
		{quiz.Filter{Lang: "en-US"}, 0},
		{quiz.Filter{Lang: "e"}, 0},
		{quiz.Filter{Lang: "zh"}, 35},
		{quiz.Filter{Lang: "zh-CN"}, 30},
		{quiz.Filter{Lang: "fr"}, 0},
		{quiz.Filter{}, 30},
		{quiz.Filter{Category: "HISTORY"}, 30},
		{quiz.Filter{Category: "History", Difficulty: "hard"}, 10},
		{quiz.Filter{Category: "History", Difficulty: "hard", Lang: "en-GB"}, 10},
		{quiz.Filter{Difficulty: "hard", Lang: "zh-CN"}, 0},
		{quiz.Filter{Difficulty: "brutal"}, 0},
		{quiz.Filter{Category: "Science"}, 5},
		{quiz.Filter{Category: "Twice"}, 0},
	} {
		if got := pool.Count(test.filter); got != test.want {
			t.Errorf("Count(%+v) = %d, want %d", test.filter, got, test.want)
		}
	}
}

func TestPoolLeavesOutInvalidQuestions(t *testing.T) {
	t.Parallel()
	questions := numberedQuestions("a", "en", "c", quiz.Easy, 3)
	questions[1].RightIndexes = nil
	if n := newPool(questions).Count(quiz.Filter{}); n != 2 {
		t.Errorf("%d questions", n)
	}
}

// drawSpec is what a test draws.
type drawSpec struct {
	quiz.Filter
	Count int
}

func TestDrawRefusesTooFewQuestions(t *testing.T) {
	t.Parallel()
	pool := samplePool()
	for spec, want := range map[drawSpec]string{
		{Count: 31}: "30 match, 31 were asked for",
		{Count: 6, Filter: quiz.Filter{Category: "Science"}}:    "5 match, 6 were asked for",
		{Count: 1, Filter: quiz.Filter{Lang: "fr"}}:             "0 match, 1 were asked for",
		{Count: math.MaxInt, Filter: quiz.Filter{Lang: "zh"}}:   "35 match",
		{Count: 1, Filter: quiz.Filter{Difficulty: "terrible"}}: "0 match",
	} {
		drawn, err := pool.Draw(spec.Filter, spec.Count, nil, newRand())
		if !errors.Is(err, quiz.ErrTooFewQuestions) || !strings.Contains(err.Error(), want) || drawn != nil {
			t.Errorf("%+v: %v, %v, want %q", spec, drawn, err, want)
		}
	}
	for _, count := range []int{0, -1} {
		if _, err := pool.Draw(quiz.Filter{}, count, nil, newRand()); err == nil {
			t.Errorf("Draw of %d questions returned no error", count)
		}
	}
}

func TestDrawFollowsItsSpec(t *testing.T) {
	t.Parallel()
	pool := samplePool()
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec{Count: rapid.IntRange(1, 32).Draw(t, "count"), Filter: quiz.Filter{
			Category:   rapid.SampledFrom([]string{"", "history", "历史", "Science"}).Draw(t, "category"),
			Lang:       rapid.SampledFrom([]string{"", "en", "en-GB", "zh", "zh-CN"}).Draw(t, "lang"),
			Difficulty: rapid.SampledFrom([]string{"", "easy", "hard", "Hard"}).Draw(t, "difficulty"),
		}}
		seen := make(map[string]struct{})
		for _, id := range rapid.SliceOf(rapid.StringMatching(`[abcd][0-9]`)).Draw(t, "seen") {
			seen[id] = struct{}{}
		}
		drawn, err := pool.Draw(spec.Filter, spec.Count, isIn(seen), rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		if pool.Count(spec.Filter) < spec.Count {
			if !errors.Is(err, quiz.ErrTooFewQuestions) {
				t.Fatalf("%+v: %v", spec, err)
			}
			return
		}
		if err != nil || len(drawn) != spec.Count {
			t.Fatalf("%+v: %d questions, %v", spec, len(drawn), err)
		}
		checkDrawn(t, pool, spec, seen, drawn)
	})
}

func checkDrawn(t *rapid.T, pool *quiz.Pool, spec drawSpec, seen map[string]struct{}, drawn []quiz.DrawnQuestion) {
	ids := make(map[string]struct{})
	repeated := 0
	for _, q := range drawn {
		ids[q.ID] = struct{}{}
		if _, known := seen[q.ID]; known {
			repeated++
		}
		wrongLang := spec.Lang != "" && q.Lang != spec.Lang && !strings.HasPrefix(q.Lang, spec.Lang+"-")
		wrongCategory := spec.Category != "" && quiz.Fold(q.Category) != quiz.Fold(spec.Category)
		wrongDifficulty := spec.Difficulty != "" && !strings.EqualFold(string(q.Difficulty), spec.Difficulty)
		hasMixedLanguages := spec.Lang == "" && q.Lang[:2] != drawn[0].Lang[:2]
		if wrongLang || wrongCategory || wrongDifficulty || hasMixedLanguages {
			t.Fatalf("%+v: %+v does not fit", spec, q)
		}
		if len(q.ValidationErrors()) > 0 {
			t.Fatalf("%+v: %q", q, q.ValidationErrors())
		}
	}
	if len(ids) != len(drawn) {
		t.Fatalf("%+v: a question came twice: %+v", spec, drawn)
	}
	if spec.Lang != "" && repeated > 0 {
		if fresh := pool.Count(spec.Filter) - countSeen(pool, spec, seen); len(drawn)-repeated != fresh {
			t.Fatalf("%+v: %d seen questions were drawn, although %d others match", spec, repeated, fresh)
		}
	}
}

func isIn(seen map[string]struct{}) func(id string) bool {
	return func(id string) bool { _, known := seen[id]; return known }
}

// countSeen counts the matching questions that were seen. It draws all of them.
func countSeen(pool *quiz.Pool, spec drawSpec, seen map[string]struct{}) int {
	spec.Count = pool.Count(spec.Filter)
	all, _ := pool.Draw(spec.Filter, spec.Count, nil, newRand())
	return len(slices.DeleteFunc(all, func(q quiz.DrawnQuestion) bool {
		_, known := seen[q.ID]
		return !known
	}))
}

func TestEachQuestionIsDrawnEquallyOften(t *testing.T) {
	t.Parallel()
	pool := newPool(numberedQuestions("a", "en", "c", quiz.Easy, 10))
	rng := newRand()
	const draws = 10_000
	drawnCounts := make(map[string]int)
	firstCounts := make(map[string]int)
	rightIndexCounts := make(map[int]int)
	for range draws {
		drawn, err := pool.Draw(quiz.Filter{}, 3, nil, rng)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range drawn {
			drawnCounts[q.ID]++
			rightIndexCounts[q.RightIndexes()[0]]++
		}
		firstCounts[drawn[0].ID]++
	}
	for id, n := range drawnCounts {
		checkFrequency(t, id, n, 3*draws/10)
	}
	for id, n := range firstCounts {
		checkFrequency(t, id+" first", n, draws/10)
	}
	for index, n := range rightIndexCounts {
		checkFrequency(t, fmt.Sprint("right choice ", index), n, 3*draws/6)
	}
}

// checkFrequency checks that a count is within 6 standard deviations of the expected one.
func checkFrequency(t *testing.T, label string, count, expected int) {
	t.Helper()
	if math.Abs(float64(count-expected)) > 6*math.Sqrt(float64(expected)) {
		t.Errorf("%s: %d times, %d expected", label, count, expected)
	}
}

func TestDrawAvoidsSeenQuestions(t *testing.T) {
	t.Parallel()
	pool := newPool(numberedQuestions("a", "en", "c", quiz.Easy, 10))
	seen := make(map[string]struct{})
	for i := range 8 {
		seen[fmt.Sprintf("a%d", i)] = struct{}{}
	}
	rng := newRand()
	repeatCounts := make(map[string]int)
	firstIsSeenCounts := make(map[bool]int)
	for range 1000 {
		two, _ := pool.Draw(quiz.Filter{}, 2, isIn(seen), rng)
		three, err := pool.Draw(quiz.Filter{}, 3, isIn(seen), rng)
		if err != nil {
			t.Fatal(err)
		}
		if ids := questionIDs(two); !slices.Equal(ids, []string{"a8", "a9"}) {
			t.Fatalf("%q were drawn, but a8 and a9 were not seen before", ids)
		}
		ids := questionIDs(three)
		if len(ids) != 3 || ids[1] != "a8" || ids[2] != "a9" {
			t.Fatalf("%q were drawn without a8 or a9, which were not seen before", ids)
		}
		repeatCounts[ids[0]]++
		_, known := seen[three[0].ID]
		firstIsSeenCounts[known]++
	}
	if len(repeatCounts) != 8 {
		t.Errorf("only %v of the 8 seen questions are drawn again", repeatCounts)
	}
	checkFrequency(t, "a seen question first", firstIsSeenCounts[true], 333)
}

func questionIDs(questions []quiz.DrawnQuestion) []string {
	var ids []string
	for _, q := range questions {
		ids = append(ids, q.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestLanguagesAreDrawnByTheirNumberOfQuestions(t *testing.T) {
	t.Parallel()
	pool := newPool(numberedQuestions("a", "en", "c", quiz.Easy, 10), numberedQuestions("b", "fr", "c", quiz.Easy, 30), numberedQuestions("c", "de", "c", quiz.Easy, 4))
	rng := newRand()
	drawnCounts := make(map[string]int)
	for range 4000 {
		drawn, err := pool.Draw(quiz.Filter{}, 5, nil, rng)
		if err != nil {
			t.Fatal(err)
		}
		drawnCounts[drawn[0].Lang]++
	}
	checkFrequency(t, "en", drawnCounts["en"], 1000)
	checkFrequency(t, "fr", drawnCounts["fr"], 3000)
	if drawnCounts["de"] > 0 {
		t.Error("questions in de were drawn, which has fewer than 5")
	}
}

func TestDrawNeverChangesThePool(t *testing.T) {
	t.Parallel()
	questions := numberedQuestions("a", "en", "c", quiz.Easy, 10)
	before := numberedQuestions("a", "en", "c", quiz.Easy, 10)
	pool := newPool(questions)
	var draws sync.WaitGroup
	for seed := range uint64(4) {
		draws.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 0))
			for range 100 {
				drawn, _ := pool.Draw(quiz.Filter{}, 5, nil, rng)
				for _, q := range drawn {
					q.Choices()[0], q.RightIndexes()[0] = "changed", 99
				}
			}
		})
	}
	draws.Wait()
	if !reflect.DeepEqual(questions, before) {
		t.Errorf("the questions became %+v", questions)
	}
}
