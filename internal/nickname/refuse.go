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
	cause := w.find(n.Display, noReason)
	if cause == "" {
		return nil
	}
	return fmt.Errorf("%w: %s%w", ErrInvalid, cause, silentError{ErrWord})
}

// RefuseTitle returns an error if a title, as returned by ParseTitle, contains a refused
// word. The error wraps ErrWord, and its text is the reason. Words that suggest staff are
// allowed: a team may be called Support.
func (w *Words) RefuseLine(line string) error {
	cause := w.find(line, staffReason)
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
func (w *Words) find(text string, ignored reason) reason {
	if w == nil {
		return ""
	}
	words, whole := wordsOf(text)
	all := canonicalForm(whole)
	if slices.Contains(w.allowed, all) || isCode(whole) && slices.Contains(w.allowed, codeOf(whole)) {
		return ""
	}
	for _, word := range sortUnique(words) {
		for _, f := range variantForms(word) {
			if found := w.blockedWords[f]; found != "" && found != ignored {
				return found
			}
		}
	}
	return w.findWithin(all, ignored)
}

// findReasonInParts returns why a part of a name's canonical form is refused, or "". It does
// not refuse parts of allowed words.
func (w *Words) findWithin(all string, ignored reason) reason {
	for _, f := range []string{all, limitRepeats(all, 1), limitRepeats(all, 2)} {
		if found := w.findPart(f, ignored); found == "" {
			continue
		}
		for _, allowed := range w.allowed {
			f = strings.ReplaceAll(f, allowed, " ")
		}
		if found := w.findPart(f, ignored); found != "" {
			return found
		}
	}
	return ""
}

// findPartReason returns why a part of a form is refused, or "". It ignores allowed words.
func (w *Words) findPart(f string, ignored reason) reason {
	for _, length := range w.partLengths {
		for start := 0; start+length <= len(f); start++ {
			if found := w.blockedParts[f[start:start+length]]; found != "" && found != ignored {
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
func wordsOf(display string) (words []string, whole string) {
	spelt := ""
	for chunk := range strings.FieldsSeq(display) {
		parts := strings.FieldsFunc(chunk, isSeparator)
		joined := strings.Join(parts, "")
		whole += joined
		words = append(words, joined)
		for _, part := range parts {
			words = append(append(words, part), splitCamelCase(part)...)
			if utf8.RuneCountInString(strings.TrimFunc(part, isPadding)) > 1 {
				words = append(words, spelt)
				spelt = ""
				continue
			}
			spelt += part
		}
	}
	return append(words, spelt, whole), whole
}

func isSeparator(r rune) bool {
	return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(letterSigns, r)
}

// isPadding reports whether a character may be put before or after a word to disguise
// it.
func isPadding(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(letterSigns, r) }

// splitCamelCase splits GameAdmin into Game and Admin, and HTTPServer into HTTP and Server.
// It returns nil for a single word.
func splitCamelCase(part string) (all []string) {
	runes, from := []rune(part), 0
	for i := 1; i < len(runes); i++ {
		if !unicode.IsUpper(runes[i]) {
			continue
		}
		if !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
			all = append(all, string(runes[from:i]))
			from = i
		}
	}
	if from > 0 {
		all = append(all, string(runes[from:]))
	}
	return all
}

// variantForms returns the canonical forms of what a word may mean. It tries the word
// with and without the digits and signs before and after it, of which up to two may be
// read as letters. It tries repeated letters once and twice. Example: "4dm1n99" has the
// form "admin". A code has one form.
func variantForms(word string) (forms []string) {
	runes := []rune(word)
	first := slices.IndexFunc(runes, func(r rune) bool { return !isPadding(r) })
	if first < 0 {
		return []string{codeOf(word)}
	}
	last := len(runes)
	for isPadding(runes[last-1]) {
		last--
	}
	var variants []string
	for _, from := range []int{0, max(0, first-2), max(0, first-1), first} {
		for _, to := range []int{len(runes), min(len(runes), last+2), min(len(runes), last+1), last} {
			variants = append(variants, string(runes[from:to]))
		}
	}
	for _, variant := range sortUnique(variants) {
		if isCode(variant) {
			forms = append(forms, codeOf(variant))
			continue
		}
		f := canonicalForm(variant)
		forms = append(forms, f, limitRepeats(f, 1), limitRepeats(f, 2))
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
	return number != "" && !strings.ContainsFunc(number, isNoDigit) && utf8.RuneCountInString(word) == utf8.RuneCountInString(number)+1
}

// codeForm returns the form of a code. It differs from the forms of all other words.
func codeOf(word string) string { return "\x00" + skeletonOf(word) }

func isNoDigit(r rune) bool { return !unicode.IsDigit(r) }

func sortUnique(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// digitsAsLetters replaces those digits and signs by letters that skeletons keep.
var digitsAsLetters = strings.NewReplacer("4", "a", "@", "a", "3", "e", "5", "s", "$", "s", "7", "t", "8", "b", "!", "l")

// canonicalForm returns a text's skeleton without accents and separators, with digits
// and signs read as letters.
func canonicalForm(text string) string {
	bare := strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
	if f, whole := keepLetters(bare); whole {
		return f
	}
	var b strings.Builder
	for _, r := range bare {
		f, _ := keepLetters(string(r))
		if f == "" && unicode.In(r, unicode.L, unicode.N) {
			f = string(r) // a letter that looks like a sign
		}
		b.WriteString(f)
	}
	return b.String()
}

// keepLettersAndNumbers returns the letters and numbers of a text's skeleton, with digits
// read as letters. isComplete reports whether the skeleton contains nothing else.
func keepLetters(text string) (letters string, whole bool) {
	skeleton := digitsAsLetters.Replace(skeletonOf(text))
	letters = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.N) {
			return r
		}
		return -1
	}, skeleton)
	return letters, len(letters) == len(skeleton)
}

// limitRepeats shortens each run of three or more equal characters to maxRepeats characters.
func limitRepeats(f string, keep int) string {
	runes := []rune(f)
	var b strings.Builder
	for i := 0; i < len(runes); {
		end := i + 1
		for end < len(runes) && runes[end] == runes[i] {
			end++
		}
		n := end - i
		if n > 2 {
			n = keep
		}
		b.WriteString(strings.Repeat(string(runes[i]), n))
		i = end
	}
	return b.String()
}
