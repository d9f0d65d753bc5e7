package bank

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Format is a file format of questions that can be imported.
type Format string

// The formats.
const (
	FormatJSON       Format = "json" // our own, see readJSON
	FormatOpenTrivia Format = "opentdb"
	FormatGIFT       Format = "gift"
	FormatCSV        Format = "csv"
)

// Formats lists the formats, for help texts.
func Formats() []Format {
	return []Format{FormatJSON, FormatOpenTrivia, FormatGIFT, FormatCSV}
}

// Read imports questions in a format. If the format is "", Read detects it from the
// extension of the file name and the contents (see DetectFormat). Errors wrap
// ErrFormat or ErrTooLarge, or come from r.
func Read(r io.Reader, name string, format Format, options Options) (Import, error) {
	data, err := readAll(r)
	if err != nil {
		return Import{}, err
	}
	if format == "" {
		if format, err = DetectFormat(name, data); err != nil {
			return Import{}, err
		}
	}
	imp := &importer{options: options, lineByID: make(map[string]int)}
	switch format {
	case FormatJSON:
		err = imp.readJSON(data)
	case FormatOpenTrivia:
		err = imp.readOpenTrivia(data)
	case FormatGIFT:
		err = imp.readGIFT(data)
	case FormatCSV:
		err = imp.readCSV(data)
	default:
		err = fmt.Errorf("%w: unknown format %q, it is one of %v", ErrFormat, format, Formats())
	}
	if err != nil {
		return Import{}, err
	}
	return imp.Import, nil
}

// DetectFormat returns the format of an input. It uses the extensions .csv and .gift
// first, then the contents. The error wraps ErrFormat.
func DetectFormat(name string, data []byte) (Format, error) {
	extension := Format(strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")))
	if slices.Contains([]Format{FormatCSV, FormatGIFT}, extension) {
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
	return "", fmt.Errorf("%w: the format of %q is not clear, name it: one of %v", ErrFormat, name, Formats())
}

// looksLikeJSON returns true if the input starts like a JSON object or list of
// objects. GIFT may also start with a bracket ([html]) or a brace (an answer).
func looksLikeJSON(data []byte) bool {
	start := strings.Join(strings.Fields(string(data[:min(len(data), 200)])), "")
	for _, opening := range []string{`{"`, `[{"`, `[]`, `{}`} {
		if strings.HasPrefix(start, opening) {
			return true
		}
	}
	return false
}

func looksLikeCSV(data []byte) bool {
	_, err := readCSVHeader(csv.NewReader(bytes.NewReader(data)))
	return err == nil
}
