package answers

import (
	"archive/zip"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// columns are the columns of the CSV and XLSX forms, which have a row for each player and
// question. The first seven are about the player.
var columns = []string{
	"rank", "player", "nickname", "team", "score", "correct", "time_ms",
	"question", "question_id", "kind", "text", "right_answer", "given", "given_correct", "elapsed_ms", "points",
}

// number is a number that a player gave.
type number string

// eachRow calls onRow with the cells of each row: a string, a number, an int64 or a bool.
// A cell without a value is "". onRow must not keep the slice.
func eachRow(ctx context.Context, source ReportSource, m Match, onRow func([]any) error) error {
	cells, solutions := make([]any, len(columns)), make([]string, len(m.Questions))
	for i, q := range m.Questions {
		solutions[i] = solutionText(q)
	}
	return source.EachPlayer(ctx, m, 0, m.Summary.Players, func(answered PlayerAnswers) error {
		p := newPlayer(m.Questions, answered)
		copy(cells, []any{int64(p.Rank), p.Player, p.Nickname, p.Team, p.Score, int64(p.Correct), p.TimeMS})
		for i, a := range p.Answers {
			q := m.Questions[i]
			copy(cells[7:], []any{int64(i), q.ID, string(q.Kind), q.Text, solutions[i], givenCell(q, a.Given), a.Correct, "", a.Points})
			if a.ElapsedMS != nil {
				cells[len(cells)-2] = *a.ElapsedMS
			}
			if err := onRow(cells); err != nil {
				return err
			}
		}
		return nil
	})
}

// solutionText returns the right answer to a question as people read it.
func solutionText(q quiz.DrawnQuestion) string {
	solution := q.Solution()
	switch value := solution.Value.(type) {
	case string:
		return strings.Join(solution.Accepted, " | ")
	case float64:
		text := strconv.FormatFloat(value, 'g', -1, 64)
		if solution.Tolerance != nil && *solution.Tolerance > 0 {
			text += " ± " + strconv.FormatFloat(*solution.Tolerance, 'g', -1, 64)
		}
		return text
	}
	if solution.Choice != nil {
		return choiceTexts(q, []int{*solution.Choice})
	}
	return choiceTexts(q, solution.Choices)
}

// givenCell returns a given answer as people read it: the texts of choices, the number or
// the text.
func givenCell(q quiz.DrawnQuestion, given *protocol.Given) any {
	switch {
	case given == nil:
		return ""
	case given.Value == nil:
		return choiceTexts(q, choicesOf(given))
	case q.Kind == quiz.Number:
		return number(given.Value)
	}
	var text string
	_ = json.Unmarshal(given.Value, &text) // a JSON text
	return text
}

func choiceTexts(q quiz.DrawnQuestion, indexes []int) string {
	texts := make([]string, len(indexes))
	for i, index := range indexes {
		texts[i] = fmt.Sprint(index)
		if choices := q.Choices(); index < len(choices) {
			texts[i] = choices[index]
		}
	}
	return strings.Join(texts, " | ")
}

// WriteCSV writes the answers of all players of a match. Its memory does not grow with
// the number of players.
func WriteCSV(ctx context.Context, w io.Writer, source ReportSource, m Match) error {
	writer := csv.NewWriter(w)
	writer.UseCRLF = true
	_ = writer.Write(columns) // Error returns the error
	record := make([]string, len(columns))
	err := eachRow(ctx, source, m, func(cells []any) error {
		for i, cell := range cells {
			record[i] = csvCell(cell)
		}
		return writer.Write(record)
	})
	writer.Flush()
	if err == nil {
		err = writer.Error()
	}
	return err
}

// formulaStarts are the characters with which a formula can start. The wide ones count in
// some languages.
const formulaStarts = "=+-@＝＋－＠"

// csvCell returns a cell as text. Spreadsheet programs would run a text that starts like a
// formula, so it gets an apostrophe in front.
func csvCell(cell any) string {
	text, isText := cell.(string)
	if !isText {
		return fmt.Sprint(cell)
	}
	trimmed := strings.TrimLeftFunc(text, unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(trimmed)
	if strings.ContainsRune(formulaStarts, first) || text != "" && strings.ContainsRune("\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

const (
	sheet      = "Answers"
	maxXLSRows = 1 << 20 // of a sheet, by the format
)

// ErrReportTooLarge means that a sheet cannot have a row for each player and question.
var ErrReportTooLarge = errors.New("report: too many rows for XLSX; use format=csv")

// WriteXLSX writes the answers of all players of a match as a sheet. Its memory does not
// grow with the number of players: the library keeps 16 MiB, and the rest in a temporary
// file. It can return ErrReportTooLarge.
func WriteXLSX(ctx context.Context, w io.Writer, source ReportSource, m Match) (err error) {
	if m.Summary.Players*len(m.Questions) >= maxXLSRows {
		return ErrReportTooLarge
	}
	file := excelize.NewFile()
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.SetSheetName("Sheet1", sheet); err != nil {
		return err
	}
	if err := writeSheet(ctx, file, source, m); err != nil {
		return err
	}
	file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return zip.NewWriter(w) }) // the library's own one fills a buffer
	return file.Write(io.Discard)
}

func writeSheet(ctx context.Context, file *excelize.File, source ReportSource, m Match) error {
	stream, err := file.NewStreamWriter(sheet)
	if err != nil {
		return err
	}
	header := make([]any, len(columns))
	for i, column := range columns {
		header[i] = column
	}
	if err := stream.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
		return err
	}
	if err := stream.SetRow("A1", header); err != nil {
		return err
	}
	row := 1
	err = eachRow(ctx, source, m, func(cells []any) error {
		for i, cell := range cells {
			if given, isNumber := cell.(number); isNumber {
				cells[i], _ = strconv.ParseFloat(string(given), 64) // a JSON number
			}
		}
		row++
		return stream.SetRow("A"+strconv.Itoa(row), cells)
	})
	return errors.Join(err, stream.Flush())
}
