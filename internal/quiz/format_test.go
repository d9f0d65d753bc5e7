package quiz_test

import (
	"errors"
	"strings"
	"testing"

	"laststand/internal/quiz"
)

func TestUnreadableInputsAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format      quiz.BankFormat
		input, want string
	}{
		{quiz.FormatJSON, ``, "unexpected end of JSON input"},
		{quiz.FormatJSON, `7`, `it has no list "questions"`},
		{quiz.FormatJSON, "{\n\"bank\": 1, \"questions\": []}", `"bank" is not a text`},
		{quiz.FormatJSON, `{"questions":{}}`, `it has no list "questions"`},
		{quiz.FormatJSON, `{"bank":"x"}`, `it has no list "questions"`},
		{quiz.FormatJSON, `{"questions":[],"colour":"red"}`, `a bank has no field "colour"`},
		{quiz.FormatJSON, "{\"questions\":[\n{},\n{\"id\":}]}", "line 3: invalid character"},
		{quiz.FormatJSON, "{\"questions\":[\n{},\n", "line 3: unexpected end of JSON input"},
		{quiz.FormatJSON, `{"questions":[]} x`, "invalid character 'x' after top-level value"},
		{quiz.FormatOpenTrivia, `{"response_code":1,"results":[]}`, "refused with code 1: it has fewer questions"},
		{quiz.FormatOpenTrivia, `{"response_code":5,"results":[]}`, "wait 5 seconds"},
		{quiz.FormatOpenTrivia, `{"response_code":"x","results":[]}`, "response_code is not a number"},
		{quiz.FormatCSV, ``, "it is empty"},
		{quiz.FormatCSV, "text,kind,answer\n", `unknown column "answer"`},
		{quiz.FormatCSV, "text;kind\n", `unknown column "text;kind"; the first line names columns`},
		{quiz.FormatCSV, "text,kind,Text \n", `column "text" is there twice`},
		{quiz.FormatCSV, "text,right\n", `column "kind" is missing`},
		{quiz.FormatCSV, "te\"xt,right\n", `bare "`},
		{quiz.FormatCSV, "text,kind\nok,\nb\xffd,", "line 3 is not UTF-8"},
		{quiz.FormatGIFT, "\xff\xfeQ\x00", "line 1 is not UTF-8"},
		{"xml", "<quiz/>", `unknown format "xml", it is one of [json opentdb gift csv]`},
		{"", "hello", "the format of \"it\" is not clear"},
	} {
		imported, err := quiz.ReadBank(strings.NewReader(test.input), "it", test.format, defaultOptions)
		if !errors.Is(err, quiz.ErrFormat) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %q: %v, want %q", test.format, test.input, err, test.want)
		}
		if len(imported.Questions)+len(imported.Skipped) > 0 {
			t.Errorf("%s %q: questions were imported or skipped: %+v", test.format, test.input, imported)
		}
	}
}

func TestDetectFindsTheFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, data string
		want       quiz.BankFormat
	}{
		{"a.csv", "", quiz.FormatCSV},
		{"a.GIFT", "", quiz.FormatGIFT},
		{"a.json", "", quiz.FormatJSON},
		{"a.json", `{"results":[{"correct_answer":"x"}]}`, quiz.FormatOpenTrivia},
		{"a.json", `{"response_code":1,"results":[]}`, quiz.FormatOpenTrivia},
		{"a", ` [ {"id":"x"}]`, quiz.FormatJSON},
		{"a.txt", "{\n \"questions\":[]}", quiz.FormatJSON},
		{"a.txt", "[html]Q{=a ~b}", quiz.FormatGIFT},
		{"a.txt", "{=Paris ~Rome} is it", quiz.FormatGIFT},
		{"-", "kind,text,choice1\n", quiz.FormatCSV},
	} {
		if got, err := quiz.DetectFormat(test.name, []byte(test.data)); got != test.want || err != nil {
			t.Errorf("DetectFormat(%s, %q) = %q, %v, want %q", test.name, test.data, got, err, test.want)
		}
	}
}

// endlessReader is an input without an end. Import must stop reading at its limit.
type endlessReader struct{}

func (endlessReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestTooLargeInputsAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := quiz.ReadBank(endlessReader{}, "", quiz.FormatGIFT, defaultOptions); !errors.Is(err, quiz.ErrTooLarge) {
		t.Errorf("too many bytes: %v", err)
	}
	for format, input := range map[quiz.BankFormat]string{
		quiz.FormatGIFT: strings.Repeat("x\n\n", quiz.MaxImportItems+1),
		quiz.FormatCSV:  "text,kind\n" + strings.Repeat("x,,y\n", quiz.MaxImportItems+1),
		quiz.FormatJSON: "[" + strings.Repeat("1,", quiz.MaxImportItems) + "1]",
	} {
		if imported, err := quiz.ReadBank(strings.NewReader(input), "", format, defaultOptions); !errors.Is(err, quiz.ErrTooLarge) || imported.Skipped != nil {
			t.Errorf("%s: too many questions: %v, %d skipped", format, err, len(imported.Skipped))
		}
	}
}

func TestHugeItemsAreSkippedWithOneReason(t *testing.T) {
	t.Parallel()
	for format, input := range map[quiz.BankFormat]string{
		quiz.FormatGIFT: "Q{" + strings.Repeat("~a", 1<<20) + "}",
		quiz.FormatJSON: `[{"kind":"multiple","text":"x","choices":["a"` + strings.Repeat(`,"a"`, 1<<18) + `],"right":[0` + strings.Repeat(",7", 1<<18) + `]}]`,
	} {
		imported, err := quiz.ReadBank(strings.NewReader(input), "", format, defaultOptions)
		if err != nil || len(imported.Skipped) != 1 || len(imported.Skipped[0].Reason) > 200 {
			t.Errorf("%s: %v, %d skipped", format, err, len(imported.Skipped))
		}
	}
}

func TestReadErrorsAreReturned(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is broken")
	if _, err := quiz.ReadBank(failingReader{broken}, "a.csv", "", defaultOptions); !errors.Is(err, broken) {
		t.Errorf("Read returned %v, want the error of the reader", err)
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
