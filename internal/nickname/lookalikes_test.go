package nickname

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.mau.fi/util/confusable"
	"pgregory.net/rapid"
)

// tableLetters returns the letters and digits that a name may have and that the Unicode data has
// a lookalike for.
func tableLetters(t *testing.T) []rune {
	t.Helper()
	var letters []rune
	for char := range rune(unicode.MaxRune) {
		if confusable.GetReplacement(char) == "" || !isLetterOrDigit(char) {
			continue
		}
		if name, err := Parse("x" + string(char) + "x"); err == nil && strings.Contains(name.Display, string(char)) {
			letters = append(letters, char)
		}
	}
	if len(letters) < 1500 {
		t.Fatalf("%d letters that a name may have: the data is missing", len(letters))
	}
	return letters
}

func isSingleRune(text string) bool { return utf8.RuneCountInString(text) == 1 }

// expectedExclusions are the letters of the pairs that the table leaves out. Each pair would make
// two different ASCII characters equal, or a letter and its accented form.
const expectedExclusions = "ƽ ν υ ϭ 𑣄 𑣆 𑣕 𑣜 Г Ꮁ Ⲅ ð Ƒ ƙ ƥ ƭ ƴ ɓ ɖ ɗ ɠ β η Б ҋ ґ ғ ꞵ ꭴ"

// A name with a letter of the data equals the name with its lookalike.
func TestLettersThatLookAlikeHaveOneSkeleton(t *testing.T) {
	t.Parallel()
	for _, char := range tableLetters(t) {
		replacement := confusable.GetReplacement(char)
		alike := computeSkeleton("x"+string(char)+"x") == computeSkeleton("x"+replacement+"x")
		// Characters that folding decomposes are skipped: the data has entries for their parts.
		if isExcluded := strings.ContainsRune(expectedExclusions, char); alike == isExcluded && isSingleRune(foldText(string(char))) {
			t.Errorf("%q (%U) and %q have skeletons %q and %q", char, char, replacement, computeSkeleton(string(char)), computeSkeleton(replacement))
		}
	}
}

func TestNamesWrittenInLookalikesHaveOneSkeleton(t *testing.T) {
	t.Parallel()
	letters := tableLetters(t)
	rapid.Check(t, func(t *rapid.T) {
		var written, alike strings.Builder
		for _, char := range rapid.SliceOfN(rapid.SampledFrom(letters), 2, 16).Draw(t, "letters") {
			replacement := confusable.GetReplacement(char)
			if strings.ContainsRune(expectedExclusions, char) || !isSingleRune(foldText(string(char))) || !rapid.Bool().Draw(t, "rewritten") {
				replacement = string(char)
			}
			written.WriteRune(char)
			alike.WriteString(replacement)
		}
		if writtenSkeleton, alikeSkeleton := computeSkeleton(written.String()), computeSkeleton(alike.String()); writtenSkeleton != alikeSkeleton {
			t.Fatalf("%q has %q, %q has %q", &written, writtenSkeleton, &alike, alikeSkeleton)
		}
	})
}

// Two ASCII characters have the same skeleton only because of their case, because of a pair of
// the data, or because they are i and l. No chain through other alphabets makes more of them
// equal.
func TestASCIICharactersStayDifferent(t *testing.T) {
	t.Parallel()
	classes := map[string]string{}
	for char := range rune(0x7f) {
		if char > ' ' {
			classes[computeSkeleton(string(char))] += string(char)
		}
	}
	var sharedClasses []string
	for class := range maps.Values(classes) {
		if len(class) > 1 && strings.ToLower(class[:1])+class[:1] != class[1:]+class[:1] {
			sharedClasses = append(sharedClasses, class)
		}
	}
	slices.Sort(sharedClasses)
	if want := []string{"'`", "0Oo", "1ILil|"}; !slices.Equal(sharedClasses, want) {
		t.Errorf("characters with the same skeleton are %q, want %q", sharedClasses, want)
	}
}

func TestSkeletonIsAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		once := computeSkeleton(text)
		if twice := computeSkeleton(once); twice != once {
			t.Fatalf("%q has %q, and that has %q", text, once, twice)
		}
	})
}

// lastConfusable is above all characters of the data, except one that is invisible.
const lastConfusable = 0x40000

// Ledgers store the results of computeSkeleton. If this test fails because the rules have
// changed, raise RulesVersion and enter the new version and sum here.
func TestChangedRulesNeedANewVersion(t *testing.T) {
	t.Parallel()
	const version, want = 2, "35c79e08cadad1bb"
	sum := sha256.New()
	for char := range rune(lastConfusable) {
		if confusable.GetReplacement(char) != "" || unicode.In(char, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Nd) {
			fmt.Fprintf(sum, "%X %q\n", char, computeSkeleton(string(char)))
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil))[:16]; got != want || RulesVersion != version {
		t.Errorf("rules of version %d have the sum %s, want version %d and %s", RulesVersion, got, version, want)
	}
}
