package nickname_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"laststand/internal/nickname"
)

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// fatalTest is what *testing.T and *rapid.T have in common.
type fatalTest interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkSuggestion(t fatalTest, requested nickname.Name) {
	t.Helper()
	got := nickname.Suggest(requested, newRand())
	if again, err := nickname.Parse(got.Display); err != nil || again != got {
		t.Fatalf("Suggest(%+q) = %+q, which parses as %+q, %v", requested, got, again, err)
	}
	if got.Skeleton == requested.Skeleton {
		t.Fatalf("Suggest(%+q) returned the requested name itself", requested)
	}
}

func parse(t *testing.T, raw string) nickname.Name {
	t.Helper()
	name, err := nickname.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSuggestKeepsTheRequestedName(t *testing.T) {
	t.Parallel()
	for raw, kept := range map[string]string{
		"Ada":                   "Ada-",
		"Grace Hopper":          "Grace Hopper-",
		"abcdefghijk mnop":      "abcdefghijk-",
		"abcdefghijklmnop":      "abcdefghijkl-",
		"小明":                    "小明-",
		strings.Repeat("字", 16): strings.Repeat("字", 12) + "-",
		"l·ll·ll·ll·l":          "l·ll·ll·ll·l-",
		"l·ll·ll·ll·ll·l":       "l·ll·ll·ll·l-",
		"al·ll·ll·ll·ll·l":      "al·ll·ll·ll-", // a middle dot is allowed only between two l
	} {
		got := nickname.Suggest(parse(t, raw), newRand()).Display
		if !strings.HasPrefix(got, kept) || len(got) != len(kept)+3 {
			t.Errorf("Suggest(%q) = %q, want %q and three more", raw, got, kept)
		}
	}
}

func TestSuggestIsAlwaysValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		requested := nickname.Name{Display: rapid.String().Draw(t, "requested")}
		checkSuggestion(t, requested)
	})
}

func TestSuggestVariesAndIsReadable(t *testing.T) {
	t.Parallel()
	rng, ada := newRand(), parse(t, "Ada")
	seen := map[string]bool{}
	for range 200 {
		name := nickname.Suggest(ada, rng)
		seen[name.Skeleton] = true
		if suffix := strings.TrimPrefix(name.Display, "Ada-"); strings.ContainsAny(suffix, "aeiouylrsv0123458ACEIOU") {
			t.Errorf("%q is hard to read", name.Display)
		}
	}
	if len(seen) < 150 {
		t.Errorf("200 suggestions, %d different", len(seen))
	}
}

func TestGenerateSpeaksThePlayersLanguage(t *testing.T) {
	t.Parallel()
	for lang, han := range map[string]bool{
		"": false, "en": false, "en-GB": false, "fr": false,
		"zh": true, "zh-CN": true, "ZH-hant": true, "zh_TW": true,
	} {
		rng, seen := newRand(), map[string]bool{}
		for range 2000 {
			name := nickname.Generate(lang, rng)
			seen[name.Skeleton] = true
			first := []rune(name.Display)[0]
			if unicode.Is(unicode.Han, first) != han {
				t.Fatalf("Generate(%q) = %q", lang, name.Display)
			}
		}
		if len(seen) < 1990 {
			t.Errorf("Generate(%q): 2000 names, %d different", lang, len(seen))
		}
	}
}
