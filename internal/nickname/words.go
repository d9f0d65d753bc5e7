package nickname

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed words/*.txt
var builtinLists embed.FS

// BuiltinLists returns the names of the word lists that come with the server: words that
// suggest staff, and a small sample of insults, each in English and Chinese.
func BuiltinLists() []string { return []string{"staff_en", "staff_zh", "en", "zh"} }

// staffPrefix is the prefix of the names of lists with words that suggest staff.
const staffPrefix = "staff_"

// WordList is an operator's own list, with one word per line. The character # starts a
// comment. The character + starts a word or phrase that is allowed although it contains
// a refused word.
type WordList struct{ Name, Text string }

// WordsConfig says which words names of a game must not contain.
type WordsConfig struct {
	Lists  []string   // names from BuiltinLists
	Custom []WordList // the operator's own lists
	Allow  []string   // words and whole names that are allowed although a list refuses them
}

// Words are the words that names of a game must not contain. A nil *Words refuses nothing.
// Words do not change and are safe for concurrent use.
type Words struct {
	blockedWords map[string]reason // by canonical form: refused as a whole word of a name
	blockedParts map[string]reason // by canonical form: refused anywhere in a name
	partLengths  []int             // lengths of blockedParts, in bytes
	allowed      []string          // canonical forms, longest first
}

// Reasons of refused words. They do not repeat the word.
const (
	noReason      reason = ""
	staffReason   reason = "it contains a word that is reserved for those who run the game"
	blockedReason reason = "it contains a word that this game does not allow"
)

// ErrWord is wrapped by an error about a name or title that contains a refused word.
var ErrWord = errors.New("refused word")

// Limits of lists.
const (
	maxWordBytes      = 64     // bytes of a word and of its canonical form
	maxListWords      = 20_000 // words per list
	maxAllowedWords   = 1000   // allowed words per list, and in Allow
	maxReportedErrors = 20     // reported errors per list
)

// NewWords returns the words of a game. The error joins all errors in the lists, with their
// line numbers. A word is refused only as a whole word of a name, so that the name
// Scunthorpe is allowed. A word between stars (*word*) is refused anywhere in a name. So is
// a word with a letter of a script that is written without spaces.
func NewWords(config WordsConfig) (*Words, error) {
	words := &Words{blockedWords: map[string]reason{}, blockedParts: map[string]reason{}}
	var errs []error
	for _, name := range config.Lists {
		text, err := builtinLists.ReadFile("words/" + name + ".txt")
		if err != nil {
			errs = append(errs, fmt.Errorf("blocklists: %q is unknown; use %v", name, BuiltinLists()))
			continue
		}
		reason := blockedReason
		if strings.HasPrefix(name, staffPrefix) {
			reason = staffReason
		}
		errs = append(errs, words.addList(WordList{name, string(text)}, reason)...)
	}
	for _, list := range config.Custom {
		errs = append(errs, words.addList(list, blockedReason)...)
	}
	errs = append(errs, words.addAllowList(config.Allow)...)
	for word := range words.blockedParts {
		words.partLengths = append(words.partLengths, len(word))
	}
	slices.Sort(words.partLengths)
	words.partLengths = slices.Compact(words.partLengths)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return words, nil
}

// addList adds a list and returns the errors in it, at most maxReportedErrors.
func (w *Words) addList(list WordList, reason reason) (errs []error) {
	if !utf8.ValidString(list.Text) {
		return []error{fmt.Errorf("%s: it is not UTF-8 text", list.Name)}
	}
	wordCount, allowedCount := 0, 0
	for i, line := range strings.Split(strings.TrimPrefix(list.Text, "\ufeff"), "\n") {
		word, _, _ := strings.Cut(line, "#")
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		addWord := func(word string) error { return w.addWord(word, reason) }
		if phrase, isAllowed := strings.CutPrefix(word, "+"); isAllowed {
			word, addWord = phrase, w.addAllowed
			allowedCount++
		} else {
			wordCount++
		}
		if wordCount > maxListWords || allowedCount > maxAllowedWords {
			return append(errs, fmt.Errorf("%s: line %d: a list has at most %d words, and %d with +", list.Name, i+1, maxListWords, maxAllowedWords))
		}
		if err := addWord(word); err != nil {
			errs = append(errs, fmt.Errorf("%s: line %d: %w", list.Name, i+1, err))
		}
		if len(errs) == maxReportedErrors {
			return append(errs, fmt.Errorf("%s: line %d: too many errors; the rest of the list was not checked", list.Name, i+1))
		}
	}
	return errs
}

func (w *Words) addWord(word string, reason reason) error {
	forms := w.blockedWords
	inner, isStarred := strings.CutPrefix(word, "*")
	if isStarred {
		var isClosed bool
		if inner, isClosed = strings.CutSuffix(inner, "*"); !isClosed {
			return errors.New("a word must have a star at both ends, or none")
		}
	}
	if isStarred || strings.ContainsFunc(inner, isUnspacedScript) {
		forms = w.blockedParts
	}
	form, err := listForm(inner)
	if err != nil {
		return err
	}
	if _, letters := wordsFrom(inner); isCode(letters) && !isStarred {
		forms, form = w.blockedWords, codeForm(letters)
	}
	if forms[form] != blockedReason { // blockedReason also refuses titles
		forms[form] = reason
	}
	return nil
}

func (w *Words) addAllowed(word string) error {
	form, err := listForm(word)
	if _, letters := wordsFrom(word); isCode(letters) {
		form = codeForm(letters)
	}
	if err == nil {
		w.allowed = append(w.allowed, form)
	}
	return err
}

// listForm returns the canonical form of a word of a list. It refuses words with less than
// two letters, which would match too many names.
func listForm(word string) (string, error) {
	_, letters := wordsFrom(word) // as in names: a sign inside a word may look like letters
	form := canonicalForm(letters)
	switch {
	case strings.Contains(word, "*"):
		return "", errors.New("a star is allowed only at the ends of a word")
	case utf8.RuneCountInString(strings.TrimSpace(word)) < 2 || utf8.RuneCountInString(form) < 2:
		return "", errors.New("it needs at least 2 letters")
	case len(word) > maxWordBytes || len(form) > maxWordBytes:
		return "", fmt.Errorf("it is too long, at most %d bytes are allowed", maxWordBytes)
	}
	return form, nil
}

// addAllowList adds allowed words and removes them from the refused ones. It also sorts all
// allowed words.
func (w *Words) addAllowList(words []string) (errs []error) {
	if len(words) > maxAllowedWords {
		return []error{fmt.Errorf("allowed_words: at most %d words are allowed", maxAllowedWords)}
	}
	for _, word := range words {
		if err := w.addAllowed(word); err != nil {
			errs = append(errs, fmt.Errorf("allowed_words: %q: %w", word, err))
			continue
		}
		form := w.allowed[len(w.allowed)-1]
		delete(w.blockedWords, form)
		delete(w.blockedParts, form)
	}
	slices.SortFunc(w.allowed, func(x, y string) int { return cmp.Or(len(y)-len(x), strings.Compare(x, y)) })
	return errs
}

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
