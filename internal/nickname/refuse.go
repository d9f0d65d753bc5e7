package nickname

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Refuse gives the error of a name that holds a refused word, or nil. It wraps
// ErrInvalid and ErrWord. Case, letters that look alike, accents, digits in
// place of letters (4dm1n), separators within (a.d.m.i.n), letters repeated and
// digits before and after are seen through.
func (w *Words) Refuse(n Name) error {
	why := w.find(n.Display, nothing)
	if why == "" {
		return nil
	}
	return fmt.Errorf("%w: %s%w", ErrInvalid, why, silent{ErrWord})
}

// RefuseLine gives the error of a title, as Line gives it, that holds a refused
// word, or nil. It wraps ErrWord, and its text is the reason. Words for staff are
// fine: a team may be called Support, and passes for nobody.
func (w *Words) RefuseLine(line string) error {
	why := w.find(line, forStaff)
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s%w", why, silent{ErrWord})
}

// silent is an error to be found by errors.Is that adds nothing to a message
// for players.
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }

// find gives why a text is refused, or "". Words that are refused for the reason
// but are overlooked.
func (w *Words) find(text string, but reason) reason {
	if w == nil {
		return ""
	}
	words, whole := wordsOf(text)
	all := form(whole)
	if slices.Contains(w.allowed, all) || isCode(whole) && slices.Contains(w.allowed, codeOf(whole)) {
		return ""
	}
	for _, word := range distinct(words) {
		for _, f := range formsOf(word) {
			if why := w.whole[f]; why != "" && why != but {
				return why
			}
		}
	}
	return w.findWithin(all, but)
}

// findWithin looks at every part of a name of the lengths that there are.
func (w *Words) findWithin(all string, but reason) reason {
	for _, f := range []string{all, squeezed(all, 1), squeezed(all, 2)} {
		if why := w.partOf(f, but); why == "" {
			continue
		}
		for _, fine := range w.allowed {
			f = strings.ReplaceAll(f, fine, " ")
		}
		if why := w.partOf(f, but); why != "" {
			return why
		}
	}
	return ""
}

// partOf gives why a part of a form is refused, or "".
func (w *Words) partOf(f string, but reason) reason {
	for _, length := range w.lengths {
		for at := 0; at+length <= len(f); at++ {
			if why := w.within[f[at:at+length]]; why != "" && why != but {
				return why
			}
		}
	}
	return ""
}

// posing are the signs that pose as letters.
const posing = "@$!|"

// wordsOf are the words that may be meant in a name: what stands between
// spaces or other separators, the humps of that in camel case, what would stand
// there without separators other than spaces, letters set apart one by one, and
// the whole name without any.
func wordsOf(display string) (words []string, whole string) {
	spelt := ""
	for chunk := range strings.FieldsSeq(display) {
		parts := strings.FieldsFunc(chunk, separates)
		joined := strings.Join(parts, "")
		whole += joined
		words = append(words, joined)
		for _, part := range parts {
			words = append(append(words, part), humps(part)...)
			if utf8.RuneCountInString(strings.TrimFunc(part, padding)) > 1 {
				words = append(words, spelt)
				spelt = ""
				continue
			}
			spelt += part
		}
	}
	return append(words, spelt, whole), whole
}

func separates(r rune) bool {
	return !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(posing, r)
}

// padding is what is set before and after a word to make another one of it.
func padding(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(posing, r) }

// humps cuts camel case: GameAdmin into Game and Admin, HTTPServer into HTTP
// and Server. None for a part of one hump.
func humps(part string) (all []string) {
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

// formsOf are the forms of what a word may stand for: with and without the
// digits and signs before and after it, of which the innermost two may pose as
// letters, and with repeated letters once or twice. A code is read as it is.
func formsOf(word string) (forms []string) {
	runes := []rune(word)
	first := slices.IndexFunc(runes, func(r rune) bool { return !padding(r) })
	if first < 0 {
		return []string{codeOf(word)}
	}
	last := len(runes)
	for padding(runes[last-1]) {
		last--
	}
	var variants []string
	for _, from := range []int{0, max(0, first-2), max(0, first-1), first} {
		for _, to := range []int{len(runes), min(len(runes), last+2), min(len(runes), last+1), last} {
			variants = append(variants, string(runes[from:to]))
		}
	}
	for _, variant := range distinct(variants) {
		if isCode(variant) {
			forms = append(forms, codeOf(variant))
			continue
		}
		f := form(variant)
		forms = append(forms, f, squeezed(f, 1), squeezed(f, 2))
	}
	return distinct(forms)
}

// isCode holds for what nobody reads as letters: digits and signs alone, and one
// letter with a number before or after it (A55), as of a road, a room or a
// telephone.
func isCode(word string) bool {
	if strings.TrimFunc(word, padding) == "" {
		return true
	}
	if strings.ContainsFunc(word, unspaced) { // 王8
		return false
	}
	number := strings.TrimFunc(word, unicode.IsLetter)
	return number != "" && !strings.ContainsFunc(number, isNoDigit) && utf8.RuneCountInString(word) == utf8.RuneCountInString(number)+1
}

// codeOf is the form of a code. It is none of another word.
func codeOf(word string) string { return "\x00" + skeletonOf(word) }

func isNoDigit(r rune) bool { return !unicode.IsDigit(r) }

func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// digits that stand for letters, where the skeleton does not say so.
var readAsLetters = strings.NewReplacer("4", "a", "@", "a", "3", "e", "5", "s", "$", "s", "7", "t", "8", "b", "!", "l")

// form is a text's skeleton without accents and separators, digits and signs
// read as letters.
func form(text string) string {
	bare := strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
	if f, whole := lettersOf(bare); whole {
		return f
	}
	var b strings.Builder
	for _, r := range bare {
		f, _ := lettersOf(string(r))
		if f == "" && unicode.In(r, unicode.L, unicode.N) {
			f = string(r) // a letter that looks like a sign
		}
		b.WriteString(f)
	}
	return b.String()
}

// lettersOf are the letters and numbers of a text's skeleton, and whether there is
// nothing else in it.
func lettersOf(text string) (letters string, whole bool) {
	skeleton := readAsLetters.Replace(skeletonOf(text))
	letters = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.N) {
			return r
		}
		return -1
	}, skeleton)
	return letters, len(letters) == len(skeleton)
}

// squeezed leaves so many of three or more equal characters in a row.
func squeezed(f string, keep int) string {
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
