package nickname

import (
	"fmt"
	"slices"
	"strings"
)

// Refuse returns an error if a name contains a refused word. The error wraps ErrInvalid
// and ErrWord. Refuse ignores case, accents, lookalikes, digits in place of letters
// (4dm1n), separators inside (a.d.m.i.n), repeated letters, and digits before and after
// a word.
func (w *Words) Refuse(n Name) error {
	cause := w.findReason(n.Display, noReason)
	if cause == "" {
		return nil
	}
	return fmt.Errorf("%w: %w%w", ErrInvalid, cause, silentError{ErrWord})
}

// RefuseTitle returns an error if a title, as returned by ParseTitle, contains a refused
// word. The error wraps ErrWord, and its text is the reason. Words that suggest staff are
// allowed: a team may be called Support.
func (w *Words) RefuseTitle(line string) error {
	cause := w.findReason(line, staffReason)
	if cause == "" {
		return nil
	}
	return fmt.Errorf("%w%w", cause, silentError{ErrWord})
}

// silentError wraps an error for errors.Is, but adds no text to a message for players.
type silentError struct{ error }

func (silentError) Error() string   { return "" }
func (s silentError) Unwrap() error { return s.error }

// findReason returns why a text is refused, or "". It skips words that are refused for the
// reason ignored. A nil w refuses nothing.
func (w *Words) findReason(text string, ignored reason) reason {
	if w == nil {
		return ""
	}
	words, joined := wordsFrom(text)
	nameForm := canonicalForm(joined)
	if slices.Contains(w.allowed, nameForm) || isCode(joined) && slices.Contains(w.allowed, codeForm(joined)) {
		return ""
	}
	for _, word := range sortUnique(words) {
		for _, form := range variantForms(word) {
			if found := w.blockedWords[form]; found != "" && found != ignored {
				return found
			}
		}
	}
	return w.findReasonInParts(nameForm, ignored)
}

// findReasonInParts returns why a part of a name's canonical form is refused, or "". It does
// not refuse parts of allowed words.
func (w *Words) findReasonInParts(nameForm string, ignored reason) reason {
	for _, form := range []string{nameForm, limitRepeats(nameForm, 1), limitRepeats(nameForm, 2)} {
		if found := w.findPartReason(form, ignored); found == "" {
			continue
		}
		for _, allowed := range w.allowed {
			form = strings.ReplaceAll(form, allowed, " ")
		}
		if found := w.findPartReason(form, ignored); found != "" {
			return found
		}
	}
	return ""
}

// findPartReason returns why a part of a form is refused, or "". It ignores allowed words.
func (w *Words) findPartReason(form string, ignored reason) reason {
	for _, length := range w.partLengths {
		for start := 0; start+length <= len(form); start++ {
			if found := w.blockedParts[form[start:start+length]]; found != "" && found != ignored {
				return found
			}
		}
	}
	return ""
}
