package quiz

import (
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/text/language"
)

// ValidationErrors returns every reason why the question must not be asked. The texts are
// for the author of the bank. It returns none for a valid question.
func (q *Question) ValidationErrors() []string {
	var errs validationErrors
	errs.checkIdentity(q)
	errs.checkTexts(q)
	switch q.Kind {
	case Single:
		errs.checkChoices(q, 2, 6)
		errs.checkOneRight(q)
	case Boolean:
		errs.checkChoices(q, 2, 2)
		errs.checkOneRight(q)
	case Multiple:
		errs.checkChoices(q, 2, 8)
		errs.checkAnyRight(q)
	case Number:
		errs.checkTarget(q.Target)
	case Text:
		errs.checkAccepted(q.Accepted)
	default:
		errs.add("kind %q is not single, boolean, multiple, number or text", q.Kind)
		return errs
	}
	errs.checkUnexpectedFields(q)
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
