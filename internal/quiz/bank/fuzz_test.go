package bank_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/quiz/bank"
)

// fuzzReader fuzzes the import of a format.
func fuzzReader(f *testing.F, format bank.Format, seeds ...string) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) { checkReader(t, format, input) })
}

// sampleParts splits a sample file into parts, because the fuzzer varies small seeds faster.
func sampleParts(f *testing.F, name, separator string) []string {
	sample, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		f.Fatal(err)
	}
	return strings.Split(string(sample), separator)
}

// checkReader reads an input and checks what Import promises: valid questions with different ids,
// reasons for skipped ones, and an export that is read back unchanged.
func checkReader(t *testing.T, format bank.Format, input []byte) {
	in, err := bank.Read(bytes.NewReader(input), "", format, defaults)
	if err != nil {
		if !errors.Is(err, bank.ErrFormat) && !errors.Is(err, bank.ErrTooLarge) {
			t.Fatalf("unexpected error: %v", err)
		}
		return
	}
	lines := bytes.Count(input, []byte("\n")) + 1
	ids := make(map[string]struct{})
	for i, q := range in.Questions {
		if faults := q.ValidationErrors(); len(faults) > 0 || in.Lines[i] < 1 || in.Lines[i] > lines {
			t.Fatalf("line %d of %d: %+v: %q", in.Lines[i], lines, q, faults)
		}
		ids[q.ID] = struct{}{}
	}
	if len(ids) != len(in.Questions) || len(in.Lines) != len(in.Questions) {
		t.Fatalf("%d questions, %d ids, %d lines", len(in.Questions), len(ids), len(in.Lines))
	}
	for _, s := range in.Skipped {
		if s.Line < 1 || s.Line > lines || s.Reason == "" || len([]rune(s.Item)) > 60 {
			t.Fatalf("an invalid skipped item of %d lines: %+v", lines, s)
		}
	}
	var file bytes.Buffer
	if err := bank.Export(&file, &bank.Bank{Questions: in.Questions}); err != nil {
		t.Fatal(err)
	}
	again, err := bank.ReadJSON(&file, bank.Options{})
	if err != nil || len(again.Skipped) > 0 || len(again.Questions) != len(in.Questions) {
		t.Fatalf("exported and read again: %v, %v", err, again.Skipped)
	}
	if len(in.Questions) == 1 && !reflect.DeepEqual(again.Questions, in.Questions) {
		t.Fatalf("%+v became %+v", in.Questions, again.Questions)
	}
}

func FuzzGIFT(f *testing.F) {
	fuzzReader(f, bank.FormatGIFT, append(sampleParts(f, "school.gift", "\n\n"),
		`::t::[html]a{=b#c ~%-50%d####e}f`, `Q{#1..5}`, `Q{#=1:2#x =%50%1}`, "$CATEGORY: $a$/b//c\nQ{T}",
		`\\{\}{=\`, `{`, `::`, `Q{=*}`, `Q{~}`, "a\r\n{T}\r\n\r\n//\r\n",
	)...)
}

func FuzzOpenTrivia(f *testing.F) {
	seeds := []string{`{"response_code":0,"results":[]}`, `{"results":[{"incorrect_answers":null}`}
	for _, item := range sampleParts(f, "opentdb.json", "},\n{") {
		seeds = append(seeds, "[{"+item+"}]")
	}
	fuzzReader(f, bank.FormatOpenTrivia, seeds...)
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
	fuzzReader(f, bank.FormatCSV, seeds...)
}

func FuzzJSON(f *testing.F) {
	fuzzReader(f, bank.FormatJSON,
		`{"bank":"x","questions":[{"kind":"text","text":"a","accepted":["b"]}],"lang":"de"}`,
		`[{"kind":"number","text":"a","target":{"value":-0,"tolerance":1e-9}}]`,
		`[{"id":"a","kind":"single","text":"b","choices":["c","d"],"right":[1]},[]]`,
	)
}
