package nickname_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"laststand/internal/nickname"
)

// FuzzWords checks that NewWords accepts a list, or refuses it with line numbers. A name that
// equals a word of an accepted list is refused, and an allowed name is not.
func FuzzWords(f *testing.F) {
	f.Add("troll\n*zonk*\n官方\n+五官方\n# none\n", "5 Troll 官方")
	f.Add("\ufeffh88\n+H88\n", "h88")
	f.Add("a*b\n**\n+\n+*x*\n-\n", "a-b")
	f.Add("ß\nｓｓ\nрусский\n", "STRASSE")
	f.Add("*ll*\n1l\n@@a\n||\n", "IlI")
	f.Add("一一\n+丿一\n士士\n", "士一士")
	f.Fuzz(func(t *testing.T, list, requested string) {
		words, err := nickname.NewWords(nickname.WordsConfig{Custom: []nickname.WordList{{Name: "own", Text: list}}})
		if err != nil {
			if words != nil || !strings.Contains(err.Error(), "own: ") {
				t.Fatalf("%q: %v", list, err)
			}
			return
		}
		hasAllowedPhrase := strings.Contains(list, "+") // any allowed phrase may contain the word
		for line := range strings.Lines(strings.TrimPrefix(list, "\ufeff")) {
			word, _, _ := strings.Cut(line, "#")
			name, err := nickname.Parse(strings.Trim(strings.TrimSpace(word), "*"))
			if err == nil && !hasAllowedPhrase && !errors.Is(words.Refuse(name), nickname.ErrWord) {
				t.Fatalf("%q of the list %q is not refused as a name", name.Display, list)
			}
		}
		name, err := nickname.Parse(requested)
		if err != nil {
			return
		}
		refused := words.Refuse(name)
		if refused != nil && (!errors.Is(refused, nickname.ErrInvalid) || !errors.Is(refused, nickname.ErrWord)) {
			t.Fatalf("%q: %v", requested, refused)
		}
		if title := words.RefuseTitle(name.Display); (title == nil) != (refused == nil) {
			t.Fatalf("%q is refused as a name: %v, as a title: %v", name.Display, refused, title)
		}
		allowed, err := nickname.NewWords(nickname.WordsConfig{Custom: []nickname.WordList{{Name: "own", Text: list}}, Allow: []string{name.Display}})
		if err == nil {
			if err := allowed.Refuse(name); err != nil {
				t.Fatalf("%q is refused although it is allowed: %v", name.Display, err)
			}
		}
	})
}

// FuzzSkeleton checks that other cases and Unicode forms of a name have the same
// skeleton.
func FuzzSkeleton(f *testing.F) {
	for _, seed := range []string{"Ada", "Straße", "ΌΣΟΣ", "İstanbul", "ǅungla", "ꭰꮹ", "ﬀﬁ", "Å", "rnm", "1lI|", "0oO", "ｱﾊﾟｰﾄ", "한글", "ŉa"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		name, err := nickname.Parse(raw)
		if err != nil {
			return
		}
		for change, other := range map[string]string{
			"composed": norm.NFC.String(name.Display), "decomposed": norm.NFD.String(name.Display),
			"in capitals": cases.Upper(language.Und).String(name.Display), "in small letters": cases.Lower(language.Und).String(name.Display),
		} {
			twin, err := nickname.Parse(other)
			if err == nil && twin.Skeleton != name.Skeleton {
				t.Fatalf("%q has %q, %s it is %q and has %q", name.Display, name.Skeleton, change, other, twin.Skeleton)
			}
		}
	})
}

// FuzzParseTitle checks that an accepted title is stable and has no forbidden characters.
func FuzzParseTitle(f *testing.F) {
	for _, seed := range []string{"Quiz Night", " a  b ", "a\u202eb", "❤️‍🔥", "می\u200cخواهم", "\u200d", "Z\u0301\u0301\u0301\u0301\u0301", "\xffa", "ㅤ", "1️⃣", strings.Repeat("x", 65)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		title, err := nickname.ParseTitle(raw, 64)
		if err != nil {
			if title != "" || err.Error() == "" {
				t.Fatalf("ParseTitle(%q) = %q, %v", raw, title, err)
			}
			return
		}
		if again, err := nickname.ParseTitle(title, 64); err != nil || again != title {
			t.Fatalf("ParseTitle(%q) = %q, but then %q, %v", raw, title, again, err)
		}
		if utf8.RuneCountInString(title) > 64 || strings.ContainsFunc(title, func(char rune) bool {
			return unicode.In(char, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Co, unicode.Bidi_Control)
		}) {
			t.Fatalf("ParseTitle(%q) = %q", raw, title)
		}
	})
}
