package quiz

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// BankFormat is a file format of questions that can be imported.
type BankFormat string

// The formats.
const (
	FormatJSON       BankFormat = "json" // our own, see readJSON
	FormatOpenTrivia BankFormat = "opentdb"
	FormatGIFT       BankFormat = "gift"
	FormatCSV        BankFormat = "csv"
)

// readers are the readers of the formats. Each passes the items of an input to the
// importer. An error means that the whole input is unreadable; it wraps ErrFormat.
var readers = map[BankFormat]func(imp *importer, data []byte) error{
	FormatJSON:       (*importer).readJSON,
	FormatOpenTrivia: (*importer).readOpenTrivia,
	FormatGIFT:       (*importer).readGIFT,
	FormatCSV:        (*importer).readCSV,
}

var formats = []BankFormat{FormatJSON, FormatOpenTrivia, FormatGIFT, FormatCSV}

// ReadBank imports questions in a format. If the format is "", ReadBank detects it from the
// extension of the file name and the contents (see DetectFormat). Errors wrap
// ErrFormat or ErrTooLarge, or come from r.
func ReadBank(r io.Reader, name string, format BankFormat, options ImportOptions) (Import, error) {
	data, err := readAll(r)
	if err == nil && format == "" {
		format, err = DetectFormat(name, data)
	}
	if err != nil {
		return Import{}, err
	}
	read, isKnown := readers[format]
	if !isKnown {
		return Import{}, fmt.Errorf("%w: unknown format %q, it is one of %v", ErrFormat, format, formats)
	}
	imp := &importer{options: options, lineByID: make(map[string]int)}
	if err := read(imp, data); err != nil {
		return Import{}, err
	}
	if imp.isTooLarge {
		return Import{}, fmt.Errorf("%w: over %d questions, split it", ErrTooLarge, MaxImportItems)
	}
	return imp.Import, nil
}

// readAll returns the complete input without a byte order mark. The input must
// be UTF-8.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxImportBytes+1))
	if err != nil {
		return nil, fmt.Errorf("bank: read: %w", err)
	}
	if len(data) > MaxImportBytes {
		return nil, fmt.Errorf("%w: over %d MiB, split it", ErrTooLarge, MaxImportBytes>>20)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		line := lineNumber(data, bytes.IndexRune(data, utf8.RuneError)) // finds the first byte that is not UTF-8
		return nil, fmt.Errorf("%w: line %d is not UTF-8, save the file as UTF-8", ErrFormat, line)
	}
	return data, nil
}

// DetectFormat returns the format of an input. It uses the extensions .csv and .gift
// first, then the contents. The error wraps ErrFormat.
func DetectFormat(name string, data []byte) (BankFormat, error) {
	extension := BankFormat(strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")))
	if slices.Contains([]BankFormat{FormatCSV, FormatGIFT}, extension) {
		return extension, nil
	}
	switch {
	case extension == FormatJSON || looksLikeJSON(data):
		if bytes.Contains(data, []byte(`"correct_answer"`)) || bytes.Contains(data, []byte(`"response_code"`)) {
			return FormatOpenTrivia, nil
		}
		return FormatJSON, nil
	case looksLikeCSV(data):
		return FormatCSV, nil
	case bytes.Contains(data, []byte("{")) && bytes.Contains(data, []byte("}")):
		return FormatGIFT, nil
	}
	return "", fmt.Errorf("%w: the format of %q is not clear, name it: one of %v", ErrFormat, name, formats)
}

// looksLikeJSON returns true if the input starts like a JSON object or list of
// objects. GIFT may also start with a bracket ([html]) or a brace (an answer).
func looksLikeJSON(data []byte) bool {
	start := strings.Join(strings.Fields(string(data[:min(len(data), 200)])), "")
	return slices.ContainsFunc([]string{`{"`, `[{"`, `[]`, `{}`}, func(opening string) bool { return strings.HasPrefix(start, opening) })
}

func looksLikeCSV(data []byte) bool {
	_, err := readCSVHeader(csv.NewReader(bytes.NewReader(data)))
	return err == nil
}

// lineNumber returns the number, from 1, of the line that contains the byte at offset.
func lineNumber(data []byte, offset int) int {
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}

// excerpt returns the first 60 characters of a text on one line.
func excerpt(text string) string {
	const limit = 60
	text = text[:min(len(text), 8*limit)]
	runes := []rune(strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "�"))
	if len(runes) <= limit {
		return string(runes)
	}
	return string(runes[:limit-1]) + "…"
}
