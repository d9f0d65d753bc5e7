package bank_test

import (
	"errors"
	"strings"
	"testing"

	"laststand/internal/quiz/bank"
)

func TestUnreadableInputsAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		format      bank.Format
		input, want string
	}{
		{bank.FormatJSON, ``, "unexpected end of JSON input"},
		{bank.FormatJSON, `7`, `it has no list "questions"`},
		{bank.FormatJSON, "{\n\"bank\": 1, \"questions\": []}", `"bank" is not a text`},
		{bank.FormatJSON, `{"questions":{}}`, `it has no list "questions"`},
		{bank.FormatJSON, `{"bank":"x"}`, `it has no list "questions"`},
		{bank.FormatJSON, `{"questions":[],"colour":"red"}`, `a bank has no field "colour"`},
		{bank.FormatJSON, "{\"questions\":[\n{},\n{\"id\":}]}", "line 3: invalid character"},
		{bank.FormatJSON, "{\"questions\":[\n{},\n", "line 3: unexpected end of JSON input"},
		{bank.FormatJSON, `{"questions":[]} x`, "invalid character 'x' after top-level value"},
		{bank.FormatOpenTrivia, `{"response_code":1,"results":[]}`, "refused with code 1: it has fewer questions"},
		{bank.FormatOpenTrivia, `{"response_code":5,"results":[]}`, "wait 5 seconds"},
		{bank.FormatOpenTrivia, `{"response_code":"x","results":[]}`, "response_code is not a number"},
		{bank.FormatCSV, ``, "it is empty"},
		{bank.FormatCSV, "text,kind,answer\n", `unknown column "answer"`},
		{bank.FormatCSV, "text;kind\n", `unknown column "text;kind"; the first line names columns`},
		{bank.FormatCSV, "text,kind,Text \n", `column "text" is there twice`},
		{bank.FormatCSV, "text,right\n", `column "kind" is missing`},
		{bank.FormatCSV, "te\"xt,right\n", `bare "`},
		{bank.FormatCSV, "text,kind\nok,\nb\xffd,", "line 3 is not UTF-8"},
		{bank.FormatGIFT, "\xff\xfeQ\x00", "line 1 is not UTF-8"},
		{"xml", "<quiz/>", `unknown format "xml", it is one of [json opentdb gift csv]`},
		{"", "hello", "the format of \"it\" is not clear"},
	} {
		imported, err := bank.Read(strings.NewReader(test.input), "it", test.format, defaultOptions)
		if !errors.Is(err, bank.ErrFormat) || !strings.Contains(err.Error(), test.want) {
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
		want       bank.Format
	}{
		{"a.csv", "", bank.FormatCSV},
		{"a.GIFT", "", bank.FormatGIFT},
		{"a.json", "", bank.FormatJSON},
		{"a.json", `{"results":[{"correct_answer":"x"}]}`, bank.FormatOpenTrivia},
		{"a.json", `{"response_code":1,"results":[]}`, bank.FormatOpenTrivia},
		{"a", ` [ {"id":"x"}]`, bank.FormatJSON},
		{"a.txt", "{\n \"questions\":[]}", bank.FormatJSON},
		{"a.txt", "[html]Q{=a ~b}", bank.FormatGIFT},
		{"a.txt", "{=Paris ~Rome} is it", bank.FormatGIFT},
		{"-", "kind,text,choice1\n", bank.FormatCSV},
	} {
		if got, err := bank.DetectFormat(test.name, []byte(test.data)); got != test.want || err != nil {
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
	if _, err := bank.Read(endlessReader{}, "", bank.FormatGIFT, defaultOptions); !errors.Is(err, bank.ErrTooLarge) {
		t.Errorf("too many bytes: %v", err)
	}
	for format, input := range map[bank.Format]string{
		bank.FormatGIFT: strings.Repeat("x\n\n", bank.MaxImportItems+1),
		bank.FormatCSV:  "text,kind\n" + strings.Repeat("x,,y\n", bank.MaxImportItems+1),
		bank.FormatJSON: "[" + strings.Repeat("1,", bank.MaxImportItems) + "1]",
	} {
		if imported, err := bank.Read(strings.NewReader(input), "", format, defaultOptions); !errors.Is(err, bank.ErrTooLarge) || imported.Skipped != nil {
			t.Errorf("%s: too many questions: %v, %d skipped", format, err, len(imported.Skipped))
		}
	}
}

func TestHugeItemsAreSkippedWithOneReason(t *testing.T) {
	t.Parallel()
	for format, input := range map[bank.Format]string{
		bank.FormatGIFT: "Q{" + strings.Repeat("~a", 1<<20) + "}",
		bank.FormatJSON: `[{"kind":"multiple","text":"x","choices":["a"` + strings.Repeat(`,"a"`, 1<<18) + `],"right":[0` + strings.Repeat(",7", 1<<18) + `]}]`,
	} {
		imported, err := bank.Read(strings.NewReader(input), "", format, defaultOptions)
		if err != nil || len(imported.Skipped) != 1 || len(imported.Skipped[0].Reason) > 200 {
			t.Errorf("%s: %v, %d skipped", format, err, len(imported.Skipped))
		}
	}
}

func TestReadErrorsAreReturned(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is broken")
	if _, err := bank.Read(failingReader{broken}, "a.csv", "", defaultOptions); !errors.Is(err, broken) {
		t.Errorf("Read returned %v, want the error of the reader", err)
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }
