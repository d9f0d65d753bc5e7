package nickname_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

func TestParseReturnsDisplayFormAndSkeleton(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]nickname.Name{
		"Ada":                         {Display: "Ada", Skeleton: "ada"},
		" Ada ":                       {Display: "Ada", Skeleton: "ada"},
		strings.Repeat("𠀀", 16):       {Display: strings.Repeat("𠀀", 16), Skeleton: strings.Repeat("𠀀", 16)},
		"\u1100\u1161가":               {Display: "가가", Skeleton: "\u1100\u1161\u1100\u1161"},
		"Ada   Lovelace":              {Display: "Ada Lovelace", Skeleton: "ada lovelace"},
		"Ａｄａ\u3000９":                  {Display: "Ada 9", Skeleton: "ada 9"},
		"小明":                          {Display: "小明", Skeleton: "小明"},
		"Straße":                      {Display: "Straße", Skeleton: "strasse"},
		"ΣΊΣΥΦΟΣ":                     {Display: "ΣΊΣΥΦΟΣ", Skeleton: "ol\u0301oy\u0278oo"},
		"Σίσυφος":                     {Display: "Σίσυφος", Skeleton: "ol\u0301oy\u0278oo"},
		"E\u0301a":                    {Display: "Éa", Skeleton: "e\u0301a"},
		"नि३":                         {Display: "नि३", Skeleton: "\u0928\u093f3"},
		"a🎮":                          {Display: "a🎮", Skeleton: "a🎮"},
		"7!":                          {Display: "7!", Skeleton: "7!"},
		"Аdа":                         {Display: "Аdа", Skeleton: "ada"}, // Cyrillic except the d
		"ΑԁА":                         {Display: "ΑԁА", Skeleton: "ada"},
		"ＡＤＡ":                         {Display: "ADA", Skeleton: "ada"},
		"Max 01":                      {Display: "Max 01", Skeleton: "rnax ol"},
		"МАХ О|":                      {Display: "МАХ О|", Skeleton: "rnax ol"},
		strings.Repeat("字", 16):       {Display: strings.Repeat("字", 16), Skeleton: strings.Repeat("字", 16)},
		strings.Repeat("e\u0301", 16): {Display: strings.Repeat("é", 16), Skeleton: strings.Repeat("e\u0301", 16)},
	} {
		if got, err := nickname.Parse(raw); err != nil || got != want {
			t.Errorf("Parse(%q) = %+q, %v; want %+q", raw, got, err, want)
		}
	}
}

func TestParseRefusesWithAReason(t *testing.T) {
	t.Parallel()
	letterWithAccents := "b" + strings.Repeat("\u0323", 20)
	for raw, reason := range map[string]string{
		"":                                    "empty",
		" \u3000 ":                            "empty",
		"a":                                   "at least 2",
		" a ":                                 "at least 2",
		"e\u0301":                             "at least 2",
		strings.Repeat("a", 17):               "at most 16",
		strings.Repeat("字", 17):               "at most 16",
		strings.Repeat("a", 10_000):           "at most 16",
		letterWithAccents + letterWithAccents: "at most 16", // 2 graphemes, 82 bytes
		"a\xffb":                              "UTF-8",
		"a\ufffdb":                            "damaged",
		"a\x00b":                              "control",
		"a\nb":                                "control",
		"a\u0085b":                            "control",
		"a\u2028b":                            "control",
		"a\u202eb":                            "direction",
		"a\u200fb":                            "direction",
		"a\u2066b":                            "direction",
		"a\u200bb":                            "invisible",
		"a\u200db":                            "invisible",
		"a\u2060b":                            "invisible",
		"a\ufeffb":                            "invisible",
		"a\u00adb":                            "invisible",
		"a\u3164b":                            "invisible",
		"a\u115fb":                            "invisible",
		"a\u034fb":                            "invisible",
		"a\u2800b":                            "invisible",
		"❤\ufe0fa":                            "invisible",
		"a\U000e0041b":                        "invisible",
		"a\ue000b":                            "private",
		"a\U00100000b":                        "private",
		"a\u0378b":                            "not assigned",
		"a\ufdd0b":                            "not assigned",
		"\u0301ab":                            "accent",
		"ab\u0316\u0317\u0318\u0319\u031c":    "more than 4 accents",
		"--":                                  "letter or a digit",
		"🎮🎮":                                  "letter or a digit",
		"か\u0640":                             "cannot have", // an Arabic tatweel is allowed in Arabic only
		"\u0660\u06f0":                        "cannot have", // digits of two scripts
		"a\u1100b":                            "cannot have", // a lone jamo
	} {
		_, err := nickname.Parse(raw)
		if !errors.Is(err, nickname.ErrInvalid) || !strings.Contains(err.Error(), reason) {
			t.Errorf("Parse(%q) = %v, want a reason with %q", raw, err, reason)
		}
		want := nickname.Characters
		switch {
		case strings.Contains(err.Error(), "too short"):
			want = nickname.TooShort
		case strings.Contains(err.Error(), "too long"):
			want = nickname.TooLong
		}
		if got := nickname.Reason(err); got != want {
			t.Errorf("the reason of %v is %q, want %q", err, got, want)
		}
	}
}

// A character of a name may have four accents, which some scripts need. An existing
// name may have more.
func TestParseLimitsAccentsPerCharacter(t *testing.T) {
	t.Parallel()
	const zalgo = "ab\u0316\u0317\u0318\u0319\u031c\u0301\u0302\u0304"
	for _, name := range []string{"ab\u0316\u0317\u0318\u0319", "Việt Anh", "ที่นี่", "བོད་ཡིག"} {
		if _, err := nickname.Parse(name); err != nil {
			t.Errorf("Parse(%q): %v", name, err)
		}
	}
	if _, err := nickname.Parse(zalgo); !errors.Is(err, nickname.ErrInvalid) {
		t.Errorf("Parse(%q): %v", zalgo, err)
	}
}

// Names that differ only in case have the same skeleton, in all scripts.
func TestSkeletonIgnoresCase(t *testing.T) {
	t.Parallel()
	letters := rapid.RuneFrom(nil, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Nd)
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.StringOfN(letters, 2, 12, -1).Draw(t, "raw")
		name, err := nickname.Parse(raw)
		if err != nil {
			t.Skip("not a name")
		}
		other := strings.Map(func(char rune) rune {
			if rapid.Bool().Draw(t, "swap") {
				return unicode.SimpleFold(char)
			}
			return char
		}, name.Display)
		twin, err := nickname.Parse(other)
		if err == nil && twin.Skeleton != name.Skeleton {
			t.Fatalf("%q has %q, %q has %q", name.Display, name.Skeleton, other, twin.Skeleton)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"Ada", " a  b ", "Ａｄａ", "Straße", "ﷺ", "ⅷ", "小明", "नि", "❤️a", "a\u200bb", "l·l", "か・",
		"\u1f80x", "İı", "\xff", "𝔞𝔟", "a\u0345\u0313", "ｶﾞx",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		name, err := nickname.Parse(raw)
		if err != nil {
			if !errors.Is(err, nickname.ErrInvalid) || name != (nickname.Name{}) {
				t.Fatalf("Parse(%q) = %+q, %v", raw, name, err)
			}
			return
		}
		if again, err := nickname.Parse(name.Display); err != nil || again != name {
			t.Fatalf("Parse(%q) = %+q, but then %+q, %v", raw, name, again, err)
		}
		if len(name.Display) > nickname.MaxBytes || name.Skeleton == "" || len(name.Skeleton) > nickname.MaxSkeleton {
			t.Fatalf("Parse(%q) = %+q", raw, name)
		}
		if twin, err := nickname.Parse(name.Skeleton); err == nil && twin.Skeleton != name.Skeleton {
			t.Fatalf("Parse(%q) = %+q, whose skeleton has %q", raw, name, twin.Skeleton)
		}
		checkSuggestion(t, name)
	})
}
