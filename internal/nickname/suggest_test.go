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

// checkSuggestion checks that Suggest returns a valid name that differs from the requested one.
func checkSuggestion(t fatalTest, requested nickname.Name) {
	t.Helper()
	got := nickname.Suggest(requested, newRand())
	if reparsed, err := nickname.Parse(got.Display); err != nil || reparsed != got {
		t.Fatalf("Suggest(%+q) = %+q, which parses as %+q, %v", requested, got, reparsed, err)
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
	for raw, prefix := range map[string]string{
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
		if !strings.HasPrefix(got, prefix) || len(got) != len(prefix)+3 {
			t.Errorf("Suggest(%q) = %q, want %q and three more", raw, got, prefix)
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

func TestSuggestionsDifferAndAreReadable(t *testing.T) {
	t.Parallel()
	rng, ada := newRand(), parse(t, "Ada")
	skeletons := map[string]bool{}
	for range 200 {
		name := nickname.Suggest(ada, rng)
		skeletons[name.Skeleton] = true
		if suffix := strings.TrimPrefix(name.Display, "Ada-"); strings.ContainsAny(suffix, "aeiouylrsv0123458ACEIOU") {
			t.Errorf("%q is hard to read", name.Display)
		}
	}
	if len(skeletons) < 150 {
		t.Errorf("200 suggestions, %d different", len(skeletons))
	}
}

func TestGenerateUsesThePlayersLanguage(t *testing.T) {
	t.Parallel()
	for lang, wantHan := range map[string]bool{
		"": false, "en": false, "en-GB": false, "fr": false,
		"zh": true, "zh-CN": true, "ZH-hant": true, "zh_TW": true,
	} {
		rng, skeletons := newRand(), map[string]bool{}
		for range 2000 {
			name := nickname.Generate(lang, rng)
			skeletons[name.Skeleton] = true
			first := []rune(name.Display)[0]
			if unicode.Is(unicode.Han, first) != wantHan {
				t.Fatalf("Generate(%q) = %q", lang, name.Display)
			}
		}
		if len(skeletons) < 1990 {
			t.Errorf("Generate(%q): 2000 names, %d different", lang, len(skeletons))
		}
	}
}
