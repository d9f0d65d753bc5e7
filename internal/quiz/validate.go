package quiz

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
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

// ValidationErrors returns every reason why the question must not be asked. The texts are
// for the author of the bank. It returns none for a valid question.
func (q *Question) ValidationErrors() []string {
	var errs validationErrors
	errs.checkIdentity(q)
	errs.checkTexts(q)
	rule, isKnown := kindRules[q.Kind]
	if !isKnown {
		errs.add("kind %q is not single, boolean, multiple, number or text", q.Kind)
		return errs
	}
	if rule.maxChoices > 0 {
		errs.checkChoices(q, rule)
	} else if len(q.Choices) > 0 || len(q.RightIndexes) > 0 {
		errs.add("choices do not fit kind %s", q.Kind)
	}
	if q.Kind == Number {
		errs.checkTarget(q.Target)
	} else if q.Target != nil {
		errs.add("a number to find does not fit kind %s", q.Kind)
	}
	if q.Kind == Text {
		errs.checkAccepted(q.Accepted)
	} else if len(q.Accepted) > 0 {
		errs.add("accepted texts do not fit kind %s", q.Kind)
	}
	return errs
}

// Warnings returns problems of the question that do not prevent it from being
// asked. The texts are for the author of the bank.
func (q *Question) Warnings() []string {
	var errs validationErrors
	if q.Explanation == "" {
		errs.add("it has no explanation")
	}
	if q.Source == "" {
		errs.add("its source is not given")
	}
	if q.Licence == "" {
		errs.add("its licence is not given")
	}
	if len(q.Accepted) > MaxAccepted {
		return errs
	}
	if i, j := firstDuplicates(q.Accepted); j > 0 {
		errs.add("accepted texts %d and %d are the same", i+1, j+1)
	}
	return errs
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

func (e *validationErrors) checkIdentity(q *Question) {
	if !idPattern.MatchString(q.ID) {
		e.add("id %q is not 1 to 64 letters, digits and _.:-", q.ID)
	}
	if q.Lang == "" {
		e.add("its language is not given")
	} else if tag, err := language.Parse(q.Lang); err != nil || tag == language.Und {
		e.add("language %q is not a BCP 47 tag such as en or zh-CN", q.Lang)
	} else if tag.String() != q.Lang {
		e.add("language %q is written %q", q.Lang, tag)
	}
	switch q.Difficulty {
	case Easy, Medium, Hard:
	default:
		e.add("difficulty %q is not easy, medium or hard", q.Difficulty)
	}
	if q.Media != "" && !isLink(q.Media) {
		e.add("media %q is not a web address (https://…) or a path (/…)", q.Media)
	}
}

func isLink(link string) bool {
	u, err := url.Parse(link)
	if err != nil {
		return false
	}
	if u.Scheme == "" {
		return u.Host == "" && strings.HasPrefix(u.Path, "/")
	}
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func (e *validationErrors) checkTexts(q *Question) {
	e.checkText("the text", q.Text, MaxQuestionLen)
	e.checkText("the category", q.Category, MaxCategoryLen)
	optional := []struct {
		field, text string
		limit       int
	}{
		{"the explanation", q.Explanation, MaxExplanationLen},
		{"the media address", q.Media, MaxMediaLen},
		{"the source", q.Source, MaxOriginLen},
		{"the licence", q.Licence, MaxOriginLen},
	}
	for _, entry := range optional {
		if entry.text != "" {
			e.checkText(entry.field, entry.text, entry.limit)
		}
	}
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

func (e *validationErrors) checkChoices(q *Question, rule kindRule) {
	n := len(q.Choices)
	if n < rule.minChoices || n > rule.maxChoices {
		e.add("it has %d choices, kind %s takes %d to %d", n, q.Kind, rule.minChoices, rule.maxChoices)
	}
	if n <= rule.maxChoices {
		for i, choice := range q.Choices {
			e.checkText(fmt.Sprintf("choice %d", i+1), choice, MaxChoiceLen)
		}
		if i, j := firstDuplicates(q.Choices); j > 0 {
			e.add("choices %d and %d are the same", i+1, j+1)
		}
		e.checkRightIndexes(q)
	}
	switch right := len(q.RightIndexes); {
	case q.Kind == Multiple && right == 0:
		e.add("none of its choices is right")
	case q.Kind != Multiple && right != 1:
		e.add("%d of its choices are right, kind %s takes 1", right, q.Kind)
	}
}

func (e *validationErrors) checkRightIndexes(q *Question) {
	if n := len(q.RightIndexes); n > len(q.Choices) {
		e.add("it has %d right indexes for %d choices", n, len(q.Choices))
		return
	}
	for i, index := range q.RightIndexes {
		if index < 0 || index >= len(q.Choices) {
			e.add("right index %d points at no choice", index)
		}
		if slices.Contains(q.RightIndexes[:i], index) {
			e.add("right index %d is there twice", index)
		}
	}
}

// firstDuplicates returns the indexes of the first two texts whose folded forms
// are equal. It returns 0, 0 if all differ.
func firstDuplicates(texts []string) (int, int) {
	firstIndex := make(map[string]int, len(texts))
	for j, text := range texts {
		folded := Fold(text)
		if i, found := firstIndex[folded]; found {
			return i, j
		}
		firstIndex[folded] = j
	}
	return 0, 0
}

func (e *validationErrors) checkTarget(target *Target) {
	if target == nil {
		e.add("it has no number to find")
		return
	}
	if math.IsNaN(target.Value) || math.IsInf(target.Value, 0) {
		e.add("its number is not finite")
	}
	if !(target.Tolerance >= 0) || math.IsInf(target.Tolerance, 0) {
		e.add("its tolerance is below 0 or not finite")
	}
}

func (e *validationErrors) checkAccepted(accepted []string) {
	if n := len(accepted); n == 0 || n > MaxAccepted {
		e.add("it has %d accepted texts, kind text takes 1 to %d", n, MaxAccepted)
		return
	}
	for i, text := range accepted {
		e.checkText(fmt.Sprintf("accepted text %d", i+1), text, MaxTextLen)
	}
}
