package nickname

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed words/*.txt
var samples embed.FS

// Lists are the lists of words that come with the server: words that pass for
// staff, and a mild sample of insults, each in English and in Chinese.
func Lists() []string { return []string{"staff_en", "staff_zh", "en", "zh"} }

// staffPrefix begins the names of lists of words that pass for staff.
const staffPrefix = "staff_"

// WordList is a list of an operator's own: a word a line, # begins a comment, and
// + a word or phrase that is fine though it holds what is refused.
type WordList struct{ Name, Text string }

// WordsConfig says what no name of a game may hold.
type WordsConfig struct {
	Lists []string   // of Lists
	Own   []WordList // see NewWords
	Allow []string   // words and whole names that are fine all the same
}

// Words are what no name of a game may hold. The nil Words hold nothing. They do
// not change and may be shared.
type Words struct {
	whole   map[string]reason // by form: what no word of a name may be
	within  map[string]reason // by form: what no part of a name may be
	lengths []int             // of within, in bytes
	allowed []string          // forms, the longest first
}

// reason is why a word is refused. It does not repeat it.
type reason string

const (
	nothing    reason = ""
	forStaff   reason = "it holds a word that is kept for those who run the game"
	notAllowed reason = "it holds a word that this game does not allow"
)

// ErrWord is wrapped, with ErrInvalid, by the refusal of a name for its words.
var ErrWord = errors.New("refused word")

// The bounds of lists.
const (
	maxWord  = 64     // bytes of a word, also in its form
	maxWords = 20_000 // of a list
	maxAllow = 1000   // words that are fine, of a list and of Allow
	maxTold  = 20     // faults of one list that are told
)

// NewWords makes the words of a game. All faults are told at once, those of a
// list with their lines. A word counts where it is a whole word of a name, so
// that Scunthorpe can play; one with a letter of a script that is written
// without spaces, or between stars (*word*), wherever it is.
func NewWords(c WordsConfig) (*Words, error) {
	w := &Words{whole: map[string]reason{}, within: map[string]reason{}}
	var faults []error
	for _, name := range c.Lists {
		text, err := samples.ReadFile("words/" + name + ".txt")
		if err != nil {
			faults = append(faults, fmt.Errorf("blocklists: %q is none of %v", name, Lists()))
			continue
		}
		why := notAllowed
		if strings.HasPrefix(name, staffPrefix) {
			why = forStaff
		}
		faults = append(faults, w.add(WordList{name, string(text)}, why)...)
	}
	for _, list := range c.Own {
		faults = append(faults, w.add(list, notAllowed)...)
	}
	faults = append(faults, w.allow(c.Allow)...)
	for word := range w.within {
		w.lengths = append(w.lengths, len(word))
	}
	slices.Sort(w.lengths)
	w.lengths = slices.Compact(w.lengths)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return w, nil
}

// add takes a list in and gives what is wrong with it.
func (w *Words) add(list WordList, why reason) (faults []error) {
	if !utf8.ValidString(list.Text) {
		return []error{fmt.Errorf("%s: it is not UTF-8 text", list.Name)}
	}
	words, fine := 0, 0
	for i, line := range strings.Split(strings.TrimPrefix(list.Text, "\ufeff"), "\n") {
		word, _, _ := strings.Cut(line, "#")
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		add := func(word string) error { return w.addWord(word, why) }
		if phrase, isFine := strings.CutPrefix(word, "+"); isFine {
			word, add = phrase, w.addFine
			fine++
		} else {
			words++
		}
		if words > maxWords || fine > maxAllow {
			return append(faults, fmt.Errorf("%s: line %d: a list has at most %d words, and %d with +", list.Name, i+1, maxWords, maxAllow))
		}
		if err := add(word); err != nil {
			faults = append(faults, fmt.Errorf("%s: line %d: %w", list.Name, i+1, err))
		}
		if len(faults) == maxTold {
			return append(faults, fmt.Errorf("%s: line %d: and perhaps more from here on", list.Name, i+1))
		}
	}
	return faults
}

func (w *Words) addWord(word string, why reason) error {
	into := w.whole
	inner, starred := strings.CutPrefix(word, "*")
	if starred {
		var closed bool
		if inner, closed = strings.CutSuffix(inner, "*"); !closed {
			return errors.New("a star stands at both ends of a word, or at none")
		}
	}
	if starred || strings.ContainsFunc(inner, unspaced) {
		into = w.within
	}
	form, err := formOf(inner)
	if err != nil {
		return err
	}
	if _, joined := wordsOf(inner); isCode(joined) && !starred {
		into, form = w.whole, codeOf(joined)
	}
	if into[form] != notAllowed { // which is refused in titles too
		into[form] = why
	}
	return nil
}

func (w *Words) addFine(word string) error {
	form, err := formOf(word)
	if _, joined := wordsOf(word); isCode(joined) {
		form = codeOf(joined)
	}
	if err == nil {
		w.allowed = append(w.allowed, form)
	}
	return err
}

// formOf is what a word of a list is found by. A single character is no word:
// it would refuse too much.
func formOf(word string) (string, error) {
	_, joined := wordsOf(word) // as names are looked at: a sign between may look like letters
	form := form(joined)
	switch {
	case strings.Contains(word, "*"):
		return "", errors.New("a star stands only at the ends of a word")
	case utf8.RuneCountInString(strings.TrimSpace(word)) < 2 || utf8.RuneCountInString(form) < 2:
		return "", errors.New("it needs at least 2 letters")
	case len(word) > maxWord || len(form) > maxWord:
		return "", fmt.Errorf("it is too long, at most %d bytes are allowed", maxWord)
	}
	return form, nil
}

func (w *Words) allow(words []string) (faults []error) {
	if len(words) > maxAllow {
		return []error{fmt.Errorf("allowed_words: at most %d words are allowed", maxAllow)}
	}
	for _, word := range words {
		if err := w.addFine(word); err != nil {
			faults = append(faults, fmt.Errorf("allowed_words: %q: %w", word, err))
			continue
		}
		form := w.allowed[len(w.allowed)-1]
		delete(w.whole, form)
		delete(w.within, form)
	}
	slices.SortFunc(w.allowed, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return faults
}

// unspaced are letters of scripts that are written without spaces between
// words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
