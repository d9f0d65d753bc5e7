package bank_test

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/quiz"
	"laststand/internal/quiz/bank"
)

func builtin(t *testing.T) *bank.Bank {
	t.Helper()
	b, err := bank.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBuiltinHasEnoughQuestions(t *testing.T) {
	t.Parallel()
	b := builtin(t)
	type group struct {
		lang  string
		value any
	}
	counts := make(map[group]int)
	categories := make(map[string]struct{})
	for _, q := range b.Questions {
		counts[group{q.Lang, nil}]++
		counts[group{q.Lang, q.Kind}]++
		counts[group{q.Lang, q.Difficulty}]++
		categories[q.Category] = struct{}{}
		if q.Explanation == "" {
			t.Errorf("%s has no explanation", q.ID)
		}
	}
	if len(b.Questions) < 300 || len(categories) < 8 {
		t.Errorf("%d questions in %d categories", len(b.Questions), len(categories))
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
	for _, f := range bank.Check(b) {
		t.Errorf("%s: %s: %s", f.QuestionID, f.Severity, f.Text)
	}
}

func TestBuiltinCategoriesAreInBothLanguages(t *testing.T) {
	t.Parallel()
	p := bank.NewPool(builtin(t))
	en, zh := p.Categories("en"), p.Categories("zh-CN")
	if !slices.Equal(en, zh) || len(en) < 8 {
		t.Errorf("en %q, zh-CN %q", en, zh)
	}
}

func TestExportedBanksAreReadBackUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &bank.Bank{
			Name:      anyText(10).Draw(t, "name"),
			Questions: rapid.SliceOfNDistinct(anyQuestion(), 0, 6, idOf).Draw(t, "questions"),
		}
		before := slices.Clone(b.Questions)
		var file bytes.Buffer
		if err := bank.Export(&file, b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(b.Questions, before) {
			t.Fatal("Export changed the bank")
		}
		in, err := bank.Read(bytes.NewReader(file.Bytes()), "x.json", "", bank.Options{})
		if err != nil || len(in.Skipped) > 0 || in.BankName != b.Name {
			t.Fatalf("bank %q: %v, skipped %v", in.BankName, err, in.Skipped)
		}
		slices.SortFunc(before, func(a, b quiz.Question) int { return strings.Compare(a.ID, b.ID) })
		if !slices.EqualFunc(in.Questions, before, func(a, b quiz.Question) bool { return reflect.DeepEqual(a, b) }) {
			t.Fatalf("%+v became %+v", before, in.Questions)
		}
		var again bytes.Buffer
		if err := bank.Export(&again, &bank.Bank{Name: in.BankName, Questions: in.Questions}); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
			t.Fatalf("a second export differs from the first (error %v)", err)
		}
	})
}

func TestAnEmptyBankCanBeExported(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := bank.Export(&file, &bank.Bank{Name: "void"}); err != nil {
		t.Fatal(err)
	}
	in, err := bank.ReadJSON(&file, bank.Options{})
	if err != nil || in.BankName != "void" || len(in.Questions)+len(in.Skipped) > 0 {
		t.Fatalf("%+v, %v", in, err)
	}
}

func TestCheckReturnsAllProblems(t *testing.T) {
	t.Parallel()
	q := func(id, text string, right int) quiz.Question {
		return quiz.Question{
			ID: id, Kind: quiz.Single, Lang: "en", Category: "c", Difficulty: quiz.Easy, Text: text,
			Choices: []string{"x", "y"}, RightIndexes: []int{right}, Explanation: "e", Source: "s", Licence: "l",
		}
	}
	broken := q("broken", "Broken?", 5)
	broken.Explanation = ""
	b := &bank.Bank{Questions: []quiz.Question{
		q("a", "One?", 0), q("b", " ONE? ", 0), q("c", "One?", 1), q("a", "Two?", 0), broken,
	}}
	want := []bank.Finding{
		{QuestionID: "b", Severity: bank.SeverityError, Text: "it is the same question as a"},
		{QuestionID: "c", Severity: bank.SeverityWarning, Text: "a has the same text with another answer"},
		{QuestionID: "a", Severity: bank.SeverityError, Text: "an earlier question has the same id"},
		{QuestionID: "broken", Severity: bank.SeverityError, Text: "right index 5 points at no choice"},
		{QuestionID: "broken", Severity: bank.SeverityWarning, Text: "it has no explanation"},
	}
	if got := bank.Check(b); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
