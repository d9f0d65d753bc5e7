package nickname

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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
	return fmt.Errorf("%w: %s%w", ErrInvalid, cause, silentError{ErrWord})
}

// RefuseTitle returns an error if a title, as returned by ParseTitle, contains a refused
// word. The error wraps ErrWord, and its text is the reason. Words that suggest staff are
// allowed: a team may be called Support.
func (w *Words) RefuseTitle(line string) error {
	cause := w.findReason(line, staffReason)
	if cause == "" {
		return nil
	}
	return fmt.Errorf("%s%w", cause, silentError{ErrWord})
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

// letterSigns are signs that may be read as letters.
const letterSigns = "@$!|"

// wordsFrom returns the words that a name may contain: parts between spaces or other
// separators, and words of these parts in camel case. It also joins the parts between two
// spaces without their separators, and joins consecutive single letters to a word. joined
// is the name without any separator.
func wordsFrom(display string) (words []string, joined string) {
	spelledOut := ""
	for chunk := range strings.FieldsSeq(display) {
		parts := strings.FieldsFunc(chunk, isSeparator)
		chunkWord := strings.Join(parts, "")
		joined += chunkWord
		words = append(words, chunkWord)
		for _, part := range parts {
			words = append(append(words, part), splitCamelCase(part)...)
			if utf8.RuneCountInString(strings.TrimFunc(part, isPadding)) > 1 {
				words = append(words, spelledOut)
				spelledOut = ""
				continue
			}
			spelledOut += part
		}
	}
	return append(words, spelledOut, joined), joined
}

func isSeparator(char rune) bool {
	return !unicode.In(char, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(letterSigns, char)
}

// isPadding reports whether a character may be put before or after a word to disguise
// it.
func isPadding(char rune) bool {
	return unicode.IsDigit(char) || strings.ContainsRune(letterSigns, char)
}

// splitCamelCase splits GameAdmin into Game and Admin, and HTTPServer into HTTP and Server.
// It returns nil for a single word.
func splitCamelCase(part string) (all []string) {
	runes, start := []rune(part), 0
	for i := 1; i < len(runes); i++ {
		if !unicode.IsUpper(runes[i]) {
			continue
		}
		if !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			all = append(all, string(runes[start:i]))
			start = i
		}
	}
	if start > 0 {
		all = append(all, string(runes[start:]))
	}
	return all
}

// variantForms returns the canonical forms of what a word may mean. It tries the word
// with and without the digits and signs before and after it, of which up to two may be
// read as letters. It tries repeated letters once and twice. Example: "4dm1n99" has the
// form "admin". A code has one form.
func variantForms(word string) (forms []string) {
	runes := []rune(word)
	firstLetter := slices.IndexFunc(runes, func(char rune) bool { return !isPadding(char) })
	if firstLetter < 0 {
		return []string{codeForm(word)}
	}
	lettersEnd := len(runes)
	for isPadding(runes[lettersEnd-1]) {
		lettersEnd--
	}
	var variants []string
	for _, start := range []int{0, max(0, firstLetter-2), max(0, firstLetter-1), firstLetter} {
		for _, end := range []int{len(runes), min(len(runes), lettersEnd+2), min(len(runes), lettersEnd+1), lettersEnd} {
			variants = append(variants, string(runes[start:end]))
		}
	}
	for _, variant := range sortUnique(variants) {
		if isCode(variant) {
			forms = append(forms, codeForm(variant))
			continue
		}
		form := canonicalForm(variant)
		forms = append(forms, form, limitRepeats(form, 1), limitRepeats(form, 2))
	}
	return sortUnique(forms)
}

// isCode reports whether a word cannot be read as letters. A code consists of digits and
// signs only, or of one letter with a number before or after it (A55), like the name of a
// road or a room.
func isCode(word string) bool {
	if strings.TrimFunc(word, isPadding) == "" {
		return true
	}
	if strings.ContainsFunc(word, isUnspacedScript) { // 王8
		return false
	}
	number := strings.TrimFunc(word, unicode.IsLetter)
	return number != "" && !strings.ContainsFunc(number, isNotDigit) && utf8.RuneCountInString(word) == utf8.RuneCountInString(number)+1
}

// codeForm returns the form of a code. It differs from the forms of all other words.
func codeForm(word string) string { return "\x00" + computeSkeleton(word) }

func isNotDigit(char rune) bool { return !unicode.IsDigit(char) }

func sortUnique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// digitsAsLetters replaces those digits and signs by letters that skeletons keep.
var digitsAsLetters = strings.NewReplacer("4", "a", "@", "a", "3", "e", "5", "s", "$", "s", "7", "t", "8", "b", "!", "l")

// canonicalForm returns a text's skeleton without accents and separators, with digits
// and signs read as letters.
func canonicalForm(text string) string {
	bare := strings.Map(func(char rune) rune {
		if unicode.IsMark(char) {
			return -1
		}
		return char
	}, norm.NFKD.String(text))
	if letters, isComplete := keepLettersAndNumbers(bare); isComplete {
		return letters
	}
	var builder strings.Builder
	for _, char := range bare {
		letters, _ := keepLettersAndNumbers(string(char))
		if letters == "" && unicode.In(char, unicode.L, unicode.N) {
			letters = string(char) // a letter that looks like a sign
		}
		builder.WriteString(letters)
	}
	return builder.String()
}

// keepLettersAndNumbers returns the letters and numbers of a text's skeleton, with digits
// read as letters. isComplete reports whether the skeleton contains nothing else.
func keepLettersAndNumbers(text string) (letters string, isComplete bool) {
	skeleton := digitsAsLetters.Replace(computeSkeleton(text))
	letters = strings.Map(func(char rune) rune {
		if unicode.In(char, unicode.L, unicode.N) {
			return char
		}
		return -1
	}, skeleton)
	return letters, len(letters) == len(skeleton)
}

// limitRepeats shortens each run of three or more equal characters to maxRepeats characters.
func limitRepeats(form string, maxRepeats int) string {
	runes := []rune(form)
	var builder strings.Builder
	for i := 0; i < len(runes); {
		end := i + 1
		for end < len(runes) && runes[end] == runes[i] {
			end++
		}
		n := end - i
		if n > 2 {
			n = maxRepeats
		}
		builder.WriteString(strings.Repeat(string(runes[i]), n))
		i = end
	}
	return builder.String()
}
