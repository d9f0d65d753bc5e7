package quiz_test

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/quiz"
)

func builtin(t *testing.T) *quiz.Bank {
	t.Helper()
	builtinBank, err := quiz.BuiltinBank()
	if err != nil {
		t.Fatal(err)
	}
	return builtinBank
}

func TestBuiltinHasEnoughQuestions(t *testing.T) {
	t.Parallel()
	builtinBank := builtin(t)
	type group struct {
		lang  string
		value any
	}
	counts := make(map[group]int)
	categories := make(map[string]struct{})
	for _, q := range builtinBank.Questions {
		counts[group{q.Lang, nil}]++
		counts[group{q.Lang, q.Kind}]++
		counts[group{q.Lang, q.Difficulty}]++
		categories[q.Category] = struct{}{}
		if q.Explanation == "" {
			t.Errorf("%s has no explanation", q.ID)
		}
	}
	if len(builtinBank.Questions) < 300 || len(categories) < 8 {
		t.Errorf("%d questions in %d categories", len(builtinBank.Questions), len(categories))
	}
	for _, lang := range []string{"en", "zh-CN"} {
		if n := counts[group{lang, nil}]; n < 150 {
			t.Errorf("%s: %d questions", lang, n)
		}
		for _, value := range []any{quiz.Easy, quiz.Medium, quiz.Hard, quiz.Single, quiz.Boolean, quiz.Multiple, quiz.Number, quiz.Text} {
			if counts[group{lang, value}] == 0 {
				t.Errorf("%s: no %s question", lang, value)
			}
		}
	}
	for _, finding := range quiz.CheckBank(builtinBank) {
		t.Errorf("%s: %s: %s", finding.QuestionID, finding.Severity, finding.Text)
	}
}

func TestBuiltinCategoriesAreInBothLanguages(t *testing.T) {
	t.Parallel()
	categories := map[string]map[string]bool{"en": {}, "zh-CN": {}}
	for _, question := range builtin(t).Questions {
		categories[question.Lang][question.Category] = true
	}
	if en, zh := categories["en"], categories["zh-CN"]; !maps.Equal(en, zh) || len(en) < 8 {
		t.Errorf("en %v, zh-CN %v", en, zh)
	}
}

func TestExportedBanksAreReadBackUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		original := &quiz.Bank{
			Name:      anyText(10).Draw(t, "name"),
			Questions: rapid.SliceOfNDistinct(anyQuestion(), 0, 6, questionID).Draw(t, "questions"),
		}
		before := slices.Clone(original.Questions)
		var file bytes.Buffer
		if err := quiz.ExportBank(&file, original); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(original.Questions, before) {
			t.Fatal("Export changed the bank")
		}
		imported, err := quiz.ReadBank(bytes.NewReader(file.Bytes()), "x.json", "", quiz.ImportOptions{})
		if err != nil || len(imported.Skipped) > 0 || imported.BankName != original.Name {
			t.Fatalf("bank %q: %v, skipped %v", imported.BankName, err, imported.Skipped)
		}
		slices.SortFunc(before, func(a, original quiz.Question) int { return strings.Compare(a.ID, original.ID) })
		if !slices.EqualFunc(imported.Questions, before, func(a, original quiz.Question) bool { return reflect.DeepEqual(a, original) }) {
			t.Fatalf("%+v became %+v", before, imported.Questions)
		}
		var again bytes.Buffer
		if err := quiz.ExportBank(&again, &quiz.Bank{Name: imported.BankName, Questions: imported.Questions}); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
			t.Fatalf("a second export differs from the first (error %v)", err)
		}
	})
}

func TestAnEmptyBankCanBeExported(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := quiz.ExportBank(&file, &quiz.Bank{Name: "void"}); err != nil {
		t.Fatal(err)
	}
	imported, err := quiz.ReadBank(&file, "", quiz.FormatJSON, quiz.ImportOptions{})
	if err != nil || imported.BankName != "void" || len(imported.Questions)+len(imported.Skipped) > 0 {
		t.Fatalf("%+v, %v", imported, err)
	}
}

func TestCheckReturnsAllProblems(t *testing.T) {
	t.Parallel()
	newQuestion := func(id, text string, right int) quiz.Question {
		return quiz.Question{
			ID: id, Kind: quiz.Single, Lang: "en", Category: "c", Difficulty: quiz.Easy, Text: text,
			Choices: []string{"x", "y"}, RightIndexes: []int{right}, Explanation: "e", Source: "s", Licence: "l",
		}
	}
	broken := newQuestion("broken", "Broken?", 5)
	broken.Explanation = ""
	checked := &quiz.Bank{Questions: []quiz.Question{
		newQuestion("a", "One?", 0), newQuestion("b", " ONE? ", 0), newQuestion("c", "One?", 1), newQuestion("a", "Two?", 0), broken,
	}}
	want := []quiz.BankFinding{
		{QuestionID: "b", Severity: quiz.SeverityError, Text: "it is the same question as a"},
		{QuestionID: "c", Severity: quiz.SeverityWarning, Text: "a has the same text with another answer"},
		{QuestionID: "a", Severity: quiz.SeverityError, Text: "an earlier question has the same id"},
		{QuestionID: "broken", Severity: quiz.SeverityError, Text: "right index 5 points at no choice"},
		{QuestionID: "broken", Severity: quiz.SeverityWarning, Text: "it has no explanation"},
	}
	if got := quiz.CheckBank(checked); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
