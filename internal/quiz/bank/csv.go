package bank

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
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
		if err := imp.addCSVRow(reader, columns, row, err); err != nil {
			return err
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

// addCSVRow adds the question of a row. It skips a row that is not a valid
// question. err is the error of reading the row.
func (imp *importer) addCSVRow(reader *csv.Reader, columns, row []string, err error) error {
	var parseErr *csv.ParseError
	if errors.As(err, &parseErr) {
		return imp.skipItem(parseErr.StartLine, strings.Join(row, ","), fmt.Sprintf("%v (seen on line %d)", parseErr.Err, parseErr.Line))
	}
	if err != nil {
		return fmt.Errorf("bank: read: %w", err)
	}
	line, _ := reader.FieldPos(0)
	cells := make(csvRow, len(columns))
	for i, cell := range row {
		cell = strings.TrimSpace(cell)
		if i >= len(columns) && cell != "" {
			return imp.skipItem(line, strings.Join(row, ","), fmt.Sprintf("it has %d cells for %d columns", len(row), len(columns)))
		}
		if i < len(columns) && cell != "" {
			cells[columns[i]] = cell
		}
	}
	if len(cells) == 0 {
		return nil // a spreadsheet's empty row
	}
	question, err := cells.toQuestion(imp.options.Lang)
	return imp.addItem(line, cells["text"], question, err)
}
