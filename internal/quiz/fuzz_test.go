package quiz_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/quiz"
)

// fuzzReader fuzzes the import of a format.
func fuzzReader(f *testing.F, format quiz.BankFormat, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) { checkReadInput(t, format, input) })
}

// sampleParts splits a sample file into parts, because the fuzzer varies small seeds faster.
func sampleParts(f *testing.F, name, separator string) []string {
	sample, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		f.Fatal(err)
	}
	return strings.Split(string(sample), separator)
}

// checkReadInput reads an input and checks what Import promises: valid questions with different ids,
// reasons for skipped ones, and an export that is read back unchanged.
func checkReadInput(t *testing.T, format quiz.BankFormat, input []byte) {
	imported, err := quiz.ReadBank(bytes.NewReader(input), "", format, defaultOptions)
	if err != nil {
		if !errors.Is(err, quiz.ErrFormat) && !errors.Is(err, quiz.ErrTooLarge) {
			t.Fatalf("unexpected error: %v", err)
		}
		return
	}
	lines := bytes.Count(input, []byte("\n")) + 1
	ids := make(map[string]struct{})
	for i, q := range imported.Questions {
		if errs := q.ValidationErrors(); len(errs) > 0 || imported.Lines[i] < 1 || imported.Lines[i] > lines {
			t.Fatalf("line %d of %d: %+v: %q", imported.Lines[i], lines, q, errs)
		}
		ids[q.ID] = struct{}{}
	}
	if len(ids) != len(imported.Questions) || len(imported.Lines) != len(imported.Questions) {
		t.Fatalf("%d questions, %d ids, %d lines", len(imported.Questions), len(ids), len(imported.Lines))
	}
	for _, item := range imported.Skipped {
		if item.Line < 1 || item.Line > lines || item.Reason == "" || len([]rune(item.Item)) > 60 {
			t.Fatalf("an invalid skipped item of %d lines: %+v", lines, item)
		}
	}
	var file bytes.Buffer
	if err := quiz.ExportBank(&file, &quiz.Bank{Questions: imported.Questions}); err != nil {
		t.Fatal(err)
	}
	again, err := quiz.ReadBank(&file, "", quiz.FormatJSON, quiz.ImportOptions{})
	if err != nil || len(again.Skipped) > 0 || len(again.Questions) != len(imported.Questions) {
		t.Fatalf("exported and read again: %v, %v", err, again.Skipped)
	}
	if len(imported.Questions) == 1 && !reflect.DeepEqual(again.Questions, imported.Questions) {
		t.Fatalf("%+v became %+v", imported.Questions, again.Questions)
	}
}

func FuzzGIFT(f *testing.F) {
	fuzzReader(f, quiz.FormatGIFT, append(sampleParts(f, "school.gift", "\n\n"),
		`::t::[html]a{=b#c ~%-50%d####e}f`, `Q{#1..5}`, `Q{#=1:2#x =%50%1}`, "$CATEGORY: $a$/b//c\nQ{T}",
		`\\{\}{=\`, `{`, `::`, `Q{=*}`, `Q{~}`, "a\r\n{T}\r\n\r\n//\r\n",
	)...)
}

func FuzzOpenTrivia(f *testing.F) {
	seeds := []string{`{"response_code":0,"results":[]}`, `{"results":[{"incorrect_answers":null}`}
	for _, item := range sampleParts(f, "opentdb.json", "},\n{") {
		seeds = append(seeds, "[{"+item+"}]")
	}
	fuzzReader(f, quiz.FormatOpenTrivia, seeds...)
}

func FuzzCSV(f *testing.F) {
	seeds := []string{
		"text,kind\n", "text,kind,choice1,choice2,right\n\"a\nb\",single,x,y,1\n\"",
		"text,kind,value,tolerance\na,number,1e3,0x1p-2\n", "\xef\xbb\xbftext,kind,accepted\r\na,text,b|c\r\n",
	}
	rows := sampleParts(f, "spreadsheet.csv", "\n")
	for _, row := range rows[1:] {
		seeds = append(seeds, rows[0]+"\n"+row)
	}
	fuzzReader(f, quiz.FormatCSV, seeds...)
}

func FuzzJSON(f *testing.F) {
	fuzzReader(f, quiz.FormatJSON,
		`{"bank":"x","questions":[{"kind":"text","text":"a","accepted":["b"]}],"lang":"de"}`,
		`[{"kind":"number","text":"a","target":{"value":-0,"tolerance":1e-9}}]`,
		`[{"id":"a","kind":"single","text":"b","choices":["c","d"],"right":[1]},[]]`,
	)
}
