package quiz_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/quiz"
)

// newSingleChoice returns a question of kind single. Its last choice is the right one.
func newSingleChoice(id, lang, text string, right string, others ...string) quiz.Question {
	return quiz.Question{
		ID: id, Kind: quiz.Single, Lang: lang, Category: "c", Difficulty: quiz.Easy, Text: text,
		Choices: append(others, right), RightIndexes: []int{len(others)},
	}
}

func TestDuplicatesAndConflictsAreFound(t *testing.T) {
	t.Parallel()
	existing := []quiz.Question{
		newSingleChoice("moon", "en", "When did people land on the Moon?", "1969", "1968"),
		{ID: "capital", Kind: quiz.Text, Lang: "en", Text: "Capital of China?", Accepted: []string{"Beijing", "Peking"}},
		{ID: "even", Kind: quiz.Multiple, Lang: "en", Text: "Even?", Choices: []string{"1", "2", "4"}, RightIndexes: []int{1, 2}},
	}
	incoming := []quiz.Question{
		newSingleChoice("0", "en", " when did people LAND on the moon?", "1969", "1970", "1971"),
		newSingleChoice("1", "en", "When did people land on the Moon?", "1970", "1969"),
		newSingleChoice("2", "en-GB", "When did people land on the Moon?", "1969", "1970"),
		{ID: "3", Kind: quiz.Number, Lang: "en", Text: "When did people land on the Moon?", Target: &quiz.Target{Value: 1969}},
		{ID: "4", Kind: quiz.Text, Lang: "en", Text: "Capital of China?", Accepted: []string{"peking"}},
		{ID: "5", Kind: quiz.Text, Lang: "en", Text: "Capital of China?", Accepted: []string{"Nanjing"}},
		{ID: "6", Kind: quiz.Multiple, Lang: "en", Text: "Even?", Choices: []string{"4", "3", "2"}, RightIndexes: []int{0, 2}},
		{ID: "7", Kind: quiz.Multiple, Lang: "en", Text: "Even?", Choices: []string{"4", "3", "2"}, RightIndexes: []int{0}},
		newSingleChoice("8", "en", "New?", "yes", "no"),
		newSingleChoice("9", "en", "New?", "yes", "maybe"),
	}
	imported := quiz.Import{Questions: incoming, Lines: make([]int, len(incoming))}
	conflicts := imported.SkipDuplicates(existing)
	var got []string
	for _, c := range conflicts {
		got = append(got, imported.Questions[c.Index].ID+" conflicts with "+c.EarlierID)
	}
	for _, item := range imported.Skipped {
		got = append(got, item.Reason)
	}
	if want := []string{
		"1 conflicts with moon", "5 conflicts with capital", "7 conflicts with even",
		"it is the same question as moon", "it is the same question as moon", "it is the same question as capital",
		"it is the same question as even", "it is the same question as 8",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSkipDuplicatesKeepsConflicts(t *testing.T) {
	t.Parallel()
	const file = `text,kind,choice1,choice2,right,id
Known?,single,a,b,1,
New?,single,a,b,1,
Which is even?,single,1,2,2,
Which is even?,single,3,4,2,
Corrected?,single,a,b,2,same
New? ,single,a,c,1,
Last?,single,a,b,1,
`
	imported, err := quiz.ReadBank(strings.NewReader(file), "", quiz.FormatCSV, defaultOptions)
	if err != nil || len(imported.Questions) != 7 {
		t.Fatalf("%+v, %v", imported, err)
	}
	existing := []quiz.Question{newSingleChoice("known", "en", "known?", "a", "z"), newSingleChoice("same", "en", "Corrected?", "a", "b")}
	conflicts := imported.SkipDuplicates(existing)
	var kept []string
	for i, q := range imported.Questions {
		kept = append(kept, fmt.Sprintf("%d %s", imported.Lines[i], q.Text))
	}
	if want := []string{"3 New?", "4 Which is even?", "5 Which is even?", "8 Last?"}; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	var skipped []string
	for _, item := range imported.Skipped {
		skipped = append(skipped, item.String())
	}
	newID := imported.Questions[0].ID
	if want := []string{
		"line 2: it is the same question as known: Known?",
		"line 6: it has another answer than same, which exists already: Corrected?",
		"line 7: it is the same question as " + newID + ": New?",
	}; !slices.Equal(skipped, want) {
		t.Errorf("skipped %q, want %q", skipped, want)
	}
	if want := []quiz.Conflict{{Index: 2, EarlierID: imported.Questions[1].ID}}; !slices.Equal(conflicts, want) {
		t.Errorf("conflicts %+v, want %+v", conflicts, want)
	}
}

func TestASecondImportHasOnlyDuplicates(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"school.gift", "opentdb.json", "spreadsheet.csv", "native.json"} {
		first, second := readSample(t, name, defaultOptions), readSample(t, name, defaultOptions)
		if conflicts := second.SkipDuplicates(first.Questions); len(second.Questions)+len(conflicts) > 0 {
			t.Errorf("%s: %d questions are new the second time, %d conflict", name, len(second.Questions), len(conflicts))
		}
	}
}

func TestIDsComeFromTheContents(t *testing.T) {
	t.Parallel()
	importedID := func(gift string) string {
		imported, err := quiz.ReadBank(strings.NewReader(gift), "", quiz.FormatGIFT, defaultOptions)
		if err != nil || len(imported.Questions) != 1 {
			t.Fatalf("%s: %+v, %v", gift, imported, err)
		}
		return imported.Questions[0].ID
	}
	first := importedID("Which?{=a ~b ~c}")
	for _, same := range []string{"WHICH? {~c =A ~b}", "::x::Which?{=b ~a ~c####why}"} {
		if got := importedID(same); got != first {
			t.Errorf("%s has the id %s, want %s", same, got, first)
		}
	}
	for _, other := range []string{"Which?{=a ~b}", "Who?{=a ~b ~c}", "Which?{~%50%a ~b ~c}"} {
		if got := importedID(other); got == first {
			t.Errorf("%s has the id of another question", other)
		}
	}
	if len(first) != 18 || !strings.HasPrefix(first, "q_") {
		t.Errorf("the id %q is not q_ and 16 characters", first)
	}
}

func TestNoDuplicateIsMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := anyQuestion().Draw(t, "question")
		others := rapid.SliceOfN(anyQuestion(), 0, 5).Draw(t, "others")
		twin := q
		twin.ID, twin.Text = "twin", "  "+strings.ToUpper(q.Text)
		imported := quiz.Import{Questions: []quiz.Question{twin}, Lines: []int{1}}
		if conflicts := imported.SkipDuplicates(append(others, q)); len(conflicts) > 0 || len(imported.Skipped) != 1 {
			t.Fatalf("%+v: %+v, %+v", q, conflicts, imported)
		}
	})
}
