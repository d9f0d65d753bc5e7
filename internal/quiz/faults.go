package quiz

import (
	"fmt"
	"net/url"
	"regexp"
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

// Faults returns every reason why the question must not be asked. The texts are
// for the author of the bank. It returns none for a valid question.
func (q *Question) Faults() []string {
	var f faults
	f.checkIdentity(q)
	f.checkTexts(q)
	switch q.Kind {
	case Single:
		f.checkChoices(q, 2, 6)
		f.checkOneRight(q)
	case Boolean:
		f.checkChoices(q, 2, 2)
		f.checkOneRight(q)
	case Multiple:
		f.checkChoices(q, 2, 8)
		f.checkSomeRight(q)
	case Number:
		f.checkTarget(q.Target)
	case Text:
		f.checkAccepted(q.Accepted)
	default:
		f.add("kind %q is not single, boolean, multiple, number or text", q.Kind)
		return f
	}
	f.checkUnexpected(q)
	return f
}

// Warnings returns problems of the question that do not prevent it from being
// asked. The texts are for the author of the bank.
func (q *Question) Warnings() []string {
	var f faults
	if q.Explanation == "" {
		f.add("it has no explanation")
	}
	if q.Source == "" {
		f.add("its source is not given")
	}
	if q.Licence == "" {
		f.add("its licence is not given")
	}
	if len(q.Accepted) > MaxAccepted {
		return f
	}
	if i, j := firstDuplicates(q.Accepted); j > 0 {
		f.add("accepted texts %d and %d are the same", i+1, j+1)
	}
	return f
}

// validationErrors are the problems found so far in a question.
type faults []string

func (f *faults) add(format string, args ...any) {
	*f = append(*f, fmt.Sprintf(format, args...))
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

func (f *faults) checkIdentity(q *Question) {
	if !idForm.MatchString(q.ID) {
		f.add("id %q is not 1 to 64 letters, digits and _.:-", q.ID)
	}
	if q.Lang == "" {
		f.add("its language is not given")
	} else if tag, err := language.Parse(q.Lang); err != nil || tag == language.Und {
		f.add("language %q is not a BCP 47 tag such as en or zh-CN", q.Lang)
	} else if tag.String() != q.Lang {
		f.add("language %q is written %q", q.Lang, tag)
	}
	switch q.Difficulty {
	case Easy, Medium, Hard:
	default:
		f.add("difficulty %q is not easy, medium or hard", q.Difficulty)
	}
	if q.Media != "" && !isLink(q.Media) {
		f.add("media %q is not a web address (https://…) or a path (/…)", q.Media)
	}
}

func isLink(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	if u.Scheme == "" {
		return u.Host == "" && strings.HasPrefix(u.Path, "/")
	}
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

func (f *faults) checkTexts(q *Question) {
	f.checkText("the text", q.Text, MaxQuestionLen)
	f.checkText("the category", q.Category, MaxCategoryLen)
	optional := []struct {
		field, text string
		limit       int
	}{
		{"the explanation", q.Explanation, MaxExplanationLen},
		{"the media address", q.Media, MaxMediaLen},
		{"the source", q.Source, MaxOriginLen},
		{"the licence", q.Licence, MaxOriginLen},
	}
	for _, o := range optional {
		if o.text != "" {
			f.checkText(o.field, o.text, o.limit)
		}
	}
}

func (f *faults) checkText(field, text string, limit int) {
	switch {
	case !utf8.ValidString(text):
		f.add("%s is not UTF-8", field)
	case utf8.RuneCountInString(text) > limit:
		f.add("%s is longer than %d characters", field, limit)
	case Fold(text) == "":
		f.add("%s is empty", field)
	case strings.ContainsFunc(text, isForbidden):
		f.add("%s contains a control character", field)
	}
}

// isForbidden reports whether a character is a control character other than a
// line end or tab. Such characters cause problems in SQL, terminals and web pages.
func isForbidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t'
}
