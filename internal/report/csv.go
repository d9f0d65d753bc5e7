package report

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"laststand/internal/answers"
)

// WriteCSV writes the answers of all players of a match. Its memory does not grow with
// the number of players.
func WriteCSV(ctx context.Context, w io.Writer, source Source, m answers.Match) error {
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
