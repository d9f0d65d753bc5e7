package quiz

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// readCSV reads comma-separated values as in RFC 4180, in UTF-8 with or without a
// byte order mark. A header row names the columns, in any order. Only text and kind
// are required. An unknown column makes the whole input unreadable. The columns:
//
//	kind                single, boolean, multiple, number, text
//	choice1 … choice8   the choices, without gaps; none for boolean: true and false
//	right               the numbers of the right choices, from 1, separated by ";";
//	                    for boolean also true (the first choice) or false
//	value, tolerance    of kind number; no tolerance is 0
//	accepted            of kind text, separated by "|", the one to show first
//	category, difficulty, lang, explanation, source, licence, media, id
func (imp *importer) readCSV(data []byte) error {
	reader := csv.NewReader(bytes.NewReader(data))
	reader.FieldsPerRecord = -1
	columns, err := readCSVHeader(reader)
	if err != nil {
		return err
	}
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var parseErr *csv.ParseError
		switch {
		case errors.As(err, &parseErr):
			imp.skipItem(parseErr.StartLine, strings.Join(row, ","), fmt.Sprintf("%v (seen on line %d)", parseErr.Err, parseErr.Line))
		case err != nil:
			return fmt.Errorf("bank: read: %w", err)
		default:
			line, _ := reader.FieldPos(0)
			imp.addCSVRow(line, columns, row)
		}
	}
}

func readCSVHeader(reader *csv.Reader) ([]string, error) {
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: CSV: it is empty", ErrFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: CSV: %w", ErrFormat, err)
	}
	columns := make([]string, len(header))
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(csvColumns, name) {
			return nil, fmt.Errorf("%w: CSV: unknown column %q; the first line names columns out of %s, separated by commas",
				ErrFormat, excerpt(header[i]), strings.Join(csvColumns, ", "))
		}
		if slices.Contains(columns[:i], name) {
			return nil, fmt.Errorf("%w: CSV: column %q is there twice", ErrFormat, name)
		}
		columns[i] = name
	}
	for _, name := range []string{"text", "kind"} {
		if !slices.Contains(columns, name) {
			return nil, fmt.Errorf("%w: CSV: column %q is missing", ErrFormat, name)
		}
	}
	return columns, nil
}

// addCSVRow adds the question of a row. It skips a row that is not a valid question.
func (imp *importer) addCSVRow(line int, columns, row []string) {
	cells := make(csvRow, len(columns))
	for i, cell := range row {
		switch cell = strings.TrimSpace(cell); {
		case cell == "":
		case i >= len(columns):
			imp.skipItem(line, strings.Join(row, ","), fmt.Sprintf("it has %d cells for %d columns", len(row), len(columns)))
			return
		default:
			cells[columns[i]] = cell
		}
	}
	if len(cells) > 0 { // else it is a spreadsheet's empty row
		question, err := cells.toQuestion(imp.options.Lang)
		imp.addItem(line, cells["text"], question, err)
	}
}

var (
	choiceColumns = []string{"choice1", "choice2", "choice3", "choice4", "choice5", "choice6", "choice7", "choice8"}
	csvColumns    = append([]string{
		"id", "kind", "text", "right", "value", "tolerance", "accepted", "category", "difficulty", "lang",
		"explanation", "source", "licence", "media",
	}, choiceColumns...)
)

// csvRow has the non-empty cells of a row, by the name of the column.
type csvRow map[string]string

func (row csvRow) toQuestion(defaultLang string) (Question, error) {
	question := Question{
		ID: row["id"], Kind: Kind(strings.ToLower(row["kind"])), Lang: row["lang"], Category: row["category"],
		Difficulty: Difficulty(strings.ToLower(row["difficulty"])), Text: row["text"],
		Explanation: row["explanation"], Source: row["source"], Licence: row["licence"], Media: row["media"],
	}
	for accepted := range strings.SplitSeq(row["accepted"], "|") {
		if accepted = strings.TrimSpace(accepted); accepted != "" {
			question.Accepted = append(question.Accepted, accepted)
		}
	}
	return question, errors.Join(row.setChoices(&question, cmp.Or(question.Lang, defaultLang)), row.setTarget(&question))
}

func (row csvRow) setChoices(q *Question, lang string) error {
	for n, name := range choiceColumns {
		choice, isSet := row[name]
		if isSet && len(q.Choices) < n {
			return fmt.Errorf("choice%d is empty but %s is not", len(q.Choices)+1, name)
		}
		if isSet {
			q.Choices = append(q.Choices, choice)
		}
	}
	if q.Kind == Boolean && len(q.Choices) == 0 {
		q.Choices = booleanChoicesIn(lang)
	}
	return row.setRight(q)
}

func (row csvRow) setRight(q *Question) error {
	if row["right"] == "" {
		return nil
	}
	for number := range strings.SplitSeq(row["right"], ";") {
		number = strings.ToLower(strings.TrimSpace(number))
		if q.Kind == Boolean {
			number = cmp.Or(map[string]string{"true": "1", "false": "2"}[number], number)
		}
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(q.Choices) {
			return fmt.Errorf("right: %q is not the number of a choice, 1 to %d", number, len(q.Choices))
		}
		q.RightIndexes = append(q.RightIndexes, n-1)
	}
	return nil
}

func (row csvRow) setTarget(q *Question) error {
	if q.Kind != Number {
		if row["tolerance"] != "" || row["value"] != "" {
			return fmt.Errorf("value and tolerance do not fit kind %s", q.Kind)
		}
		return nil
	}
	q.Target = new(Target)
	var err error
	if q.Target.Value, err = parseNumber(row["value"]); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if q.Target.Tolerance, err = parseNumber(cmp.Or(row["tolerance"], "0")); err != nil {
		return fmt.Errorf("tolerance: %w", err)
	}
	return nil
}

func parseNumber(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number such as 1969 or 3.14", excerpt(s))
	}
	return v, nil
}
