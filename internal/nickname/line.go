package nickname

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many accents a character of a line or a name has at the most; Vietnamese
// has two, Tibetan and Thai three or four, and what has more overflows its line.
const maxMarks = 4

// Line takes a title that many are shown, as of an arena or a team: one line of up
// to most characters, spaces around it trimmed. It has to show something, and no
// controls, nothing that turns the direction of text, is private, unassigned, or
// invisible but for what joins emoji and letters. Titles may be alike: they are
// nobody's. The error's text is a reason for whoever wrote it.
func Line(raw string, most int) (string, error) {
	line := strings.TrimSpace(raw)
	length := utf8.RuneCountInString(line)
	switch {
	case !utf8.ValidString(line):
		return "", errors.New("it is not valid UTF-8 text")
	case length > most:
		return "", fmt.Errorf("it is too long, at most %d characters are allowed", most)
	case !strings.ContainsFunc(line, shows):
		return "", errors.New("it shows nothing")
	}
	if reason := refuseInLine(line); reason != "" {
		return "", errors.New(reason)
	}
	return line, nil
}

// shows holds for what is seen by itself.
func shows(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && forbidden(r) == ""
}

func refuseInLine(line string) string {
	before := ' '
	for i, r := range line {
		inside := i+utf8.RuneLen(r) < len(line)
		if kind := forbidden(r); kind != "" && !joins(before, r, inside) {
			return fmt.Sprintf("it holds %s (%U)", kind, r)
		}
		before = r
	}
	if overMarked(line) {
		return tooManyMarks
	}
	return ""
}

var tooManyMarks = fmt.Sprintf("it holds more than %d accents on one character", maxMarks)

// overMarked reports whether a character has more than maxMarks accents.
func overMarked(text string) bool {
	marks := 0
	for _, r := range text {
		if !unicode.IsMark(r) || unicode.Is(unicode.Variation_Selector, r) {
			marks = 0
			continue
		}
		if marks++; marks > maxMarks {
			return true
		}
	}
	return false
}

// What joins emoji and letters, and how an emoji is shown.
const (
	nonJoiner = '\u200c' // between letters, in Persian
	joiner    = '\u200d'
	asText    = '\ufe0e'
	asEmoji   = '\ufe0f'
)

// joins holds where an invisible character has its use: behind one that is seen.
func joins(before, r rune, inside bool) bool {
	seen := shows(before) || unicode.IsMark(before) && before != asText && before != asEmoji
	switch r {
	case joiner:
		return inside && (seen || before == asEmoji)
	case nonJoiner:
		return inside && seen
	case asText, asEmoji:
		return seen
	}
	return false
}
