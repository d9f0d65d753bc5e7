package quiz_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"laststand/internal/quiz"
)

func TestFoldMakesEqualTextsEqual(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "",
		" \t\n\u3000":           "",
		"the moon":              "the moon",
		"  The\u00a0 MOON\n":    "the moon",
		"Straße":                "strasse",
		"STRASSE":               "strasse",
		"ﬁne":                   "fine",
		"Ｑｕｉｚ　１２":               "quiz 12",
		"北京":                    "北京",
		"北京 ":                   "北京",
		"①":                     "1",
		"e\u0301cole":           "école",
		"ÉCOLE":                 "école",
		"ΣΊΣΥΦΟΣ":               "σίσυφοσ",
		"\u1f80":                "\u1f00\u03b9",
		"\u03b1\u0345\u0313":    "\u1f00\u03b9",
		"Dž":                    "dž",
		"a\u3000\u3000b \u2003": "a b",
	} {
		if got := quiz.Fold(text); got != want {
			t.Errorf("Fold(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFoldIsIdempotentForEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x20000; r++ {
		once := quiz.Fold("x" + string(r) + "y")
		if twice := quiz.Fold(once); twice != once {
			t.Fatalf("%U folds to %q, then to %q", r, once, twice)
		}
	}
}

func TestFoldedTextsAreStableAndTrimmed(t *testing.T) {
	t.Parallel()
	awkward := rapid.SampledFrom([]rune(" \t\u00a0\u3000ßſ\u0345\u0301\u0308İıΣς\u1e9eﬃǅ①가\u1100\u1161\u00a8\u200d\ufdfaＡ"))
	texts := rapid.StringOf(rapid.OneOf(awkward, rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "s")
		folded := quiz.Fold(text)
		if again := quiz.Fold(folded); again != folded {
			t.Fatalf("%q folds to %q, then to %q", text, folded, again)
		}
		if strings.TrimSpace(folded) != folded || strings.Contains(folded, "  ") {
			t.Fatalf("%q folds to %q, which has spaces at an end or next to each other", text, folded)
		}
		if padded := quiz.Fold(" " + text + "\u3000"); padded != folded {
			t.Fatalf("%q folds to %q, padded to %q", text, folded, padded)
		}
	})
}

func TestFoldIgnoresCaseOfASCII(t *testing.T) {
	t.Parallel()
	ascii := rapid.StringOf(rapid.RuneFrom(nil, &unicode.RangeTable{R16: []unicode.Range16{{Lo: ' ', Hi: '~', Stride: 1}}}))
	rapid.Check(t, func(t *rapid.T) {
		text := ascii.Draw(t, "s")
		want := strings.Join(strings.Fields(strings.ToLower(text)), " ")
		if got := quiz.Fold(text); got != want {
			t.Fatalf("Fold(%q) = %q, want %q", text, got, want)
		}
	})
}
