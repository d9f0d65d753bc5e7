package nickname

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

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

// isUnspacedScript reports whether a letter belongs to a script that is written without
// spaces between words.
func isUnspacedScript(char rune) bool {
	return unicode.In(char, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
