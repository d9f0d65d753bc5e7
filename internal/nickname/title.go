package nickname

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is the largest number of accents on one character of a title or a name.
// Vietnamese has two, Tibetan and Thai three or four. More accents overflow the line.
const maxMarks = 4

// ParseTitle checks a title that many players see, for example of an arena or a team. It
// trims spaces at both ends. A title is one line of up to maxLength characters (code
// points) with at least one visible character. It must not have control, private or unassigned characters, or
// characters that change the direction of text. Invisible characters are allowed only
// where they join emoji or letters, or select the style of an emoji. Titles need not be
// unique. The error text tells the author of the title what is wrong.
func ParseTitle(raw string, maxLength int) (string, error) {
	line := strings.TrimSpace(raw)
	length := utf8.RuneCountInString(line)
	switch {
	case !utf8.ValidString(line):
		return "", reason("it is not valid UTF-8 text")
	case length > maxLength:
		return "", fmt.Errorf("it is too long, at most %d characters are allowed", maxLength)
	case !strings.ContainsFunc(line, isVisible):
		return "", reason("it shows nothing")
	}
	if cause := reasonAgainstTitle(line); cause != "" {
		return "", cause
	}
	return line, nil
}

// isVisible reports whether a character is visible without other characters.
func isVisible(char rune) bool {
	return unicode.In(char, unicode.L, unicode.N, unicode.P, unicode.S) && forbiddenKind(char) == ""
}

func reasonAgainstTitle(line string) reason {
	previous := ' '
	for i, char := range line {
		hasNext := i+utf8.RuneLen(char) < len(line)
		if kind := forbiddenKind(char); kind != "" && !isAllowedInvisible(previous, char, hasNext) {
			return reason(fmt.Sprintf("it contains %s (%U)", kind, char))
		}
		previous = char
	}
	if hasTooManyMarks(line) {
		return tooManyMarksReason
	}
	return ""
}

var tooManyMarksReason = reason(fmt.Sprintf("it has more than %d accents on one character", maxMarks))

// hasTooManyMarks reports whether a character has more than maxMarks accents.
func hasTooManyMarks(text string) bool {
	marks := 0
	for _, char := range text {
		if !unicode.IsMark(char) || unicode.Is(unicode.Variation_Selector, char) {
			marks = 0
			continue
		}
		if marks++; marks > maxMarks {
			return true
		}
	}
	return false
}

// Characters that join emoji and letters, or select the style of an emoji.
const (
	nonJoiner     = '\u200c' // between letters, in Persian
	joiner        = '\u200d'
	textSelector  = '\ufe0e'
	emojiSelector = '\ufe0f'
)

// isAllowedInvisible reports whether an invisible character is allowed after previous: it
// must follow a visible character, and a joiner must not be the last character.
func isAllowedInvisible(previous, char rune, hasNext bool) bool {
	followsVisible := isVisible(previous) || unicode.IsMark(previous) && previous != textSelector && previous != emojiSelector
	switch char {
	case joiner:
		return hasNext && (followsVisible || previous == emojiSelector)
	case nonJoiner:
		return hasNext && followsVisible
	case textSelector, emojiSelector:
		return followsVisible
	}
	return false
}
