package answers

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// writers are the forms of a file.
var writers = map[string]func(context.Context, io.Writer, ReportSource, Match) error{"csv": WriteCSV, "xlsx": WriteXLSX}

// Both forms have the same rows: one for each player and question. Only CSV marks texts that
// would be formulas.
func TestFilesHaveARowForEachPlayerAndQuestion(t *testing.T) {
	t.Parallel()
	want := map[int][]string{
		0:  columns,
		1:  {"1", "p_0", "Nick 0", "north", "100", "1", "2000", "0", "q0", "single", "Question 0?", "Oslo", "Oslo", "true", "1000", "150"},
		2:  {"1", "p_0", "Nick 0", "north", "100", "1", "2000", "1", "q1", "multiple", "Question 1?", "2 | 3", "2 | 3", "true", "10", "150"},
		3:  {"1", "p_0", "Nick 0", "north", "100", "1", "2000", "2", "q2", "number", "Question 2?", "'-5 ± 0.5", "-5", "true", "7", "150"},
		4:  {"1", "p_0", "Nick 0", "north", "100", "1", "2000", "3", "q3", "text", "Question 3?", "The moon | Moon", "'-1+1", "false", "3", "0"},
		6:  {"2", "p_1", "Nick 1", "north", "100", "1", "2000", "0", "q0", "single", "Question 0?", "Oslo", "'=Paris", "false", "1001", "0"},
		9:  {"2", "p_1", "Nick 1", "north", "100", "1", "2000", "3", "q3", "text", "Question 3?", "The moon | Moon", "", "false", "", "0"},
		11: {"3", "p_2", "Nick 2", "north", "100", "1", "2000", "0", "q0", "single", "Question 0?", "Oslo", "", "true", "2000", "150"},
		15: {"3", "p_2", "Nick 2", "north", "100", "1", "2000", "4", "q4", "boolean", "Question 4?", "No", "", "false", "", "0"},
	}
	for form, write := range writers {
		var file bytes.Buffer
		testenv.NoError(t, write(t.Context(), &file, smallSource(), fakeMatch(match.Race, 3)))
		rows := readRows(t, form, &file)
		if len(rows) != 1+3*5 {
			t.Errorf("%s has %d rows", form, len(rows))
		}
		for i, row := range want {
			if form == "xlsx" {
				row = slices.Clone(row)
				for c := range row {
					row[c] = strings.TrimPrefix(row[c], "'")
				}
			}
			if !slices.Equal(rows[i], row) {
				t.Errorf("%s, row %d: %q\nwant %q", form, i, rows[i], row)
			}
		}
	}
}

// readRows returns the rows of a file, as a reader of its form finds them.
func readRows(t *testing.T, form string, file io.Reader) [][]string {
	t.Helper()
	if form == "csv" {
		rows := testenv.Need(csv.NewReader(file).ReadAll())(t)
		return rows
	}
	workbook := testenv.Need(excelize.OpenReader(file))(t)
	defer workbook.Close()
	rows := testenv.Need(workbook.GetRows(sheet))(t)
	for i, row := range rows {
		for c, cell := range row {
			if strings.EqualFold(cell, "true") || strings.EqualFold(cell, "false") {
				rows[i][c] = strings.ToLower(cell)
			}
			address, _ := excelize.CoordinatesToCellName(c+1, i+1)
			if formula, err := workbook.GetCellFormula(sheet, address); formula != "" || err != nil {
				t.Errorf("%s has the formula %q, %v", address, formula, err)
			}
		}
	}
	return rows
}

func TestTextsThatAreFormulasAreMarkedInCSV(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u00a0=1", "\t1", "\r1", "\n1", "＝1", "＠1", "=", `=HYPERLINK("x")`} {
		if got := csvCell(text); got != "'"+text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for _, text := range []string{"", " ", "Ada", "1-1", "阿达", "'=1", "\xff", "e@x.example"} {
		if got := csvCell(text); got != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for want, value := range map[string]any{"-20": int64(-20), "-1.5": number("-1.5"), "true": true} {
		if got := csvCell(value); got != want {
			t.Errorf("%v is written as %q", value, got)
		}
	}
}

// An error of the source or of the writer is not lost.
func TestErrorsOfFilesAreReturned(t *testing.T) {
	t.Parallel()
	m := fakeMatch(match.Race, 3)
	for form, write := range writers {
		if err := write(t.Context(), io.Discard, failingSource{}, m); !errors.Is(err, errSource) {
			t.Errorf("%s: %v", form, err)
		}
		reader, writer := io.Pipe()
		reader.CloseWithError(errSource)
		if err := write(t.Context(), writer, smallSource(), m); !errors.Is(err, errSource) {
			t.Errorf("%s to a closed writer: %v", form, err)
		}
	}
	m.Summary.Players = maxXLSRows / len(m.Questions)
	if err := WriteXLSX(t.Context(), io.Discard, failingSource{}, m); !errors.Is(err, errSource) {
		t.Errorf("the most players of a sheet: %v", err)
	}
	m.Summary.Players++
	if err := WriteXLSX(t.Context(), io.Discard, failingSource{}, m); !errors.Is(err, ErrReportTooLarge) {
		t.Errorf("too many players: %v", err)
	}
}

var errSource = errors.New("the source is down")

type failingSource struct{ fakeSource }

func (failingSource) EachPlayer(context.Context, Match, int, int, func(PlayerAnswers) error) error {
	return errSource
}

// largeSource has players who have answered all questions. It calls measure after some
// of them.
type largeSource struct {
	fakeSource

	measure func()
}

func (l largeSource) EachPlayer(_ context.Context, m Match, from, to int, onPlayer func(PlayerAnswers) error) error {
	for i := from; i < to; i++ {
		p := PlayerAnswers{Standing: fakeStanding(i)}
		for q := range m.Questions {
			p.Answers = append(p.Answers, answerTo(q, []string{`{"choice":1}`, `{"choices":[0,1]}`, `{"value":-5}`, `{"value":"moon"}`}[q%4], true, int64(i)))
		}
		if err := onPlayer(p); err != nil {
			return err
		}
		if i%(m.Summary.Players/10) == 0 {
			l.measure()
		}
	}
	return nil
}

// largeMatch returns a match with 20 questions.
func largeMatch(players int) Match {
	m := fakeMatch(match.Race, players)
	for len(m.Questions) < 20 {
		m.Questions = append(m.Questions[:len(m.Questions)/4*4], fakeQuestions()...)
	}
	m.Questions = m.Questions[:20]
	return m
}

// memoryOfFile writes a file and returns its size and the memory that it needed.
func memoryOfFile(t testing.TB, form string, m Match) (size int, memory uint64) {
	t.Helper()
	before, highest := liveHeap(), uint64(0)
	file := &measuredWriter{measure: func() { highest = max(highest, liveHeap()) }}
	testenv.NoError(t, writers[form](t.Context(), file, largeSource{measure: file.measure}, m))
	return file.written, highest - min(before, highest)
}

// The memory of a file does not grow with its size, here 60 MB. The test has long questions in
// place of many players: that is faster with the race detector.
func TestLargeFilesNeedLittleMemory(t *testing.T) { //nolint:paralleltest // it measures the heap
	m := largeMatch(500)
	for _, q := range m.Questions {
		q.Text = strings.Repeat("Who? ", 1200)
	}
	for form, limit := range map[string]uint64{"csv": 2 << 20, "xlsx": 40 << 20} {
		if size, memory := memoryOfFile(t, form, m); memory > limit {
			t.Errorf("%s of %d bytes took %d bytes of memory, want at most %d", form, size, memory, limit)
		}
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// measuredWriter calls measure after some MiB.
type measuredWriter struct {
	measure func()
	written int
}

func (w *measuredWriter) Write(p []byte) (int, error) {
	if w.written>>22 != (w.written+len(p))>>22 {
		w.measure()
	}
	w.written += len(p)
	return len(p), nil
}
