package quiz_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"laststand/internal/quiz"
)

var defaultOptions = quiz.ImportOptions{Lang: "en", Category: "General"}

func readSample(t *testing.T, name string, options quiz.ImportOptions) quiz.Import {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	imported, err := quiz.ReadBank(file, name, "", options)
	if err != nil {
		t.Fatal(err)
	}
	return imported
}

// describe writes a question on one line and marks right answers with a star.
func describe(line int, q quiz.Question) string {
	description := fmt.Sprintf("%d %s %s %s %s: %s", line, q.Kind, q.Lang, q.Category, q.Difficulty, q.Text)
	for i, choice := range q.Choices {
		star := ""
		if slices.Contains(q.RightIndexes, i) {
			star = "*"
		}
		description += " | " + choice + star
	}
	for _, accepted := range q.Accepted {
		description += " | =" + accepted
	}
	if q.Target != nil {
		description += fmt.Sprintf(" | %v±%v", q.Target.Value, q.Target.Tolerance)
	}
	for _, extra := range []string{q.Explanation, q.Media} {
		if extra != "" {
			description += " # " + extra
		}
	}
	return strings.ReplaceAll(description, "\n", "⏎")
}

// wantImport is the expected result of an import.
type wantImport struct {
	imported []string // imported questions, as describe writes them
	skipped  []string // prefixes of "line: reason"
}

func (want wantImport) check(t *testing.T, got quiz.Import) {
	t.Helper()
	for i, q := range got.Questions {
		description := describe(got.Lines[i], q)
		if i >= len(want.imported) || description != want.imported[i] {
			t.Errorf("imported question %d: %s", i, description)
		}
		if errs := q.ValidationErrors(); len(errs) > 0 {
			t.Errorf("%s: %q", description, errs)
		}
	}
	for i, item := range got.Skipped {
		description := fmt.Sprintf("%d: %s", item.Line, item.Reason)
		if i >= len(want.skipped) || !strings.HasPrefix(description, want.skipped[i]) {
			t.Errorf("skipped item %d: %s", i, description)
		}
		if n := len([]rune(item.Item)); n == 0 || n > 60 || strings.Contains(item.Item, "\n") {
			t.Errorf("skipped item %d is shown as %q", i, item.Item)
		}
	}
	if len(got.Questions) != len(want.imported) || len(got.Skipped) != len(want.skipped) || len(got.Lines) != len(got.Questions) {
		t.Errorf("imported %d (%d lines), skipped %d, want %d and %d",
			len(got.Questions), len(got.Lines), len(got.Skipped), len(want.imported), len(want.skipped))
	}
}

func TestReadOpenTriviaImportsTheSample(t *testing.T) {
	t.Parallel()
	imported := readSample(t, "opentdb.json", quiz.ImportOptions{})
	wantImport{
		imported: []string{
			`2 single en Entertainment: Japanese Anime & Manga easy: Who says "It's over 9000!" – and where? | Vegeta, in épisode 21* | Nappa | Goku | Krillin`,
			"3 boolean en Science: Computers hard: The C language is older than C++. | True* | False",
			"4 boolean en Mythology medium: Zeus was a Titan. | True | False*",
			"6 single en Geography medium: What does &amp; show in HTML? | &* | amp | €",
			"14 single en Science & Nature easy: How much is 50% of 2+2? | 2* | 1 | 4",
			"15 single en History easy: Which year? (AD) | 1066* | 1067",
		},
		skipped: []string{
			`16: type "matching"`,
			"17: choices 1 and 2 are the same",
			`18: "!" cannot be decoded`,
			"19: it has the id of the question on line 3",
			`20: field "question" cannot be a JSON number`,
			"21: it is not a question but a JSON string",
		},
	}.check(t, imported)
	for _, q := range imported.Questions {
		if !strings.Contains(q.Source, "opentdb.com") || q.Licence != "CC-BY-SA-4.0" {
			t.Errorf("source %q, licence %q", q.Source, q.Licence)
		}
	}
}

func TestOptionsOverrideTheDefaultSourceOfOpenTrivia(t *testing.T) {
	t.Parallel()
	imported := readSample(t, "opentdb.json", quiz.ImportOptions{Lang: "de", Source: "mine", Licence: "own", Category: "x", Difficulty: quiz.Hard})
	q := imported.Questions[2]
	if q.Lang != "de" || q.Source != "mine" || q.Licence != "own" || q.Category != "Mythology" || q.Difficulty != quiz.Medium {
		t.Errorf("%+v", q)
	}
}

func TestReadCSVImportsTheSample(t *testing.T) {
	t.Parallel()
	imported := readSample(t, "spreadsheet.csv", quiz.ImportOptions{Lang: "en", Category: "General", Source: "class 4b", Licence: "CC-BY-4.0"})
	wantImport{
		imported: []string{
			`2 single en-GB Words hard: Which word is a "palindrome"?⏎Mind the case. | level* | lever # Read it backwards,⏎letter by letter. # https://example.org/a.png`,
			"5 boolean zh-CN 科学 easy: 水在标准大气压下一百摄氏度沸腾。 | 对* | 错",
			"6 boolean en General medium: Cats bark. | Yes | No*",
			"7 multiple en General medium: Which are even? | 1 | 2* | 3 | 4*",
			"8 number en General medium: Boiling point of water in °C? | 100±0.5",
			"9 text en General medium: Largest planet? | =Jupiter | =jupiter planet",
			"20 single en General medium: Short row | a | b*",
		},
		skipped: []string{
			"11: choice2 is empty but choice3 is not",
			`12: right: "3" is not the number of a choice, 1 to 2`,
			`13: right: "b"`,
			`14: value: "" is not a number`,
			`15: value: "3,5" is not a number`,
			"16: value and tolerance do not fit kind text",
			"17: it has 19 cells for 17 columns",
			`18: bare " in non-quoted-field (seen on line 18)`,
			`19: kind "essay"`,
		},
	}.check(t, imported)
	if a, b := imported.Questions[0], imported.Questions[1]; a.Source != "me" || a.Licence != "CC0-1.0" || b.Source != "class 4b" || b.Licence != "CC-BY-4.0" {
		t.Errorf("sources and licences: %+v, %+v", a, b)
	}
}

func TestReadJSONImportsTheSample(t *testing.T) {
	t.Parallel()
	imported := readSample(t, "native.json", quiz.ImportOptions{Lang: "fr", Licence: "other", Difficulty: quiz.Hard})
	wantImport{
		imported: []string{
			"5 single de Alltag easy: Was ist 1 + 1? | 1 | 2*",
			"6 number en Alltag hard: How many? | 12.5±0.5",
			"14 text de Alltag hard: Wie heißt der Mond? | =Mond",
		},
		skipped: []string{
			"10: it has the id of the question on line 5 (de-1)",
			`11: it is not a question: json: unknown field "choises"`,
			"12: it has 0 accepted texts",
			"13: it is not a question but a JSON array",
		},
	}.check(t, imported)
	if imported.BankName != "mine" || imported.Questions[0].Source != "selbst" || imported.Questions[0].Licence != "CC0-1.0" {
		t.Errorf("bank %q, %+v", imported.BankName, imported.Questions[0])
	}
}
