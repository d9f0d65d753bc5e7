package bank

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

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
