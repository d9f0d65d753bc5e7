package quiz

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a question's texts, in characters (Unicode code points).
const (
	MaxQuestionLen    = 1000
	MaxChoiceLen      = 200
	MaxExplanationLen = 1000
	MaxCategoryLen    = 100
	MaxOriginLen      = 500 // Source and Licence
	MaxMediaLen       = 2000
	MaxAccepted       = 50 // accepted texts per question
)

// validationErrors are the problems found so far in a question.
type validationErrors []string

func (e *validationErrors) add(format string, args ...any) {
	*e = append(*e, fmt.Sprintf(format, args...))
}

func (e *validationErrors) checkText(field, text string, limit int) {
	switch {
	case !utf8.ValidString(text):
		e.add("%s is not UTF-8", field)
	case utf8.RuneCountInString(text) > limit:
		e.add("%s is longer than %d characters", field, limit)
	case Fold(text) == "":
		e.add("%s is empty", field)
	case strings.ContainsFunc(text, isForbiddenRune):
		e.add("%s contains a control character", field)
	}
}

// isForbiddenRune reports whether a character is a control character other than a
// line end or tab. Such characters cause problems in SQL, terminals and web pages.
func isForbiddenRune(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t'
}
