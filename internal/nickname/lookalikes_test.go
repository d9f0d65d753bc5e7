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

	"go.mau.fi/util/confusable"
	"pgregory.net/rapid"
)

// tableLetters returns all letters and digits of the data that a name may have.
func tableLetters(t *testing.T) []rune {
	t.Helper()
	var all []rune
	for r := range rune(unicode.MaxRune) {
		if confusable.GetReplacement(r) == "" || !isLetterOrDigit(r) {
			continue
		}
		if name, err := Parse("x" + string(r) + "x"); err == nil && strings.Contains(name.Display, string(r)) {
			all = append(all, r)
		}
	}
	if len(all) < 1500 {
		t.Fatalf("%d letters that a name may have: the data is missing", len(all))
	}
	return all
}

// leftOut are the pairs of the data that the table leaves out. Each would make two
// different ASCII characters equal, or a letter and its accented form.
const leftOut = "ƽ ν υ ϭ 𑣄 𑣆 𑣕 𑣜 Г Ꮁ Ⲅ ð Ƒ ƙ ƥ ƭ ƴ ɓ ɖ ɗ ɠ β η Б ҋ ґ ғ ꞵ ꭴ"

// A name with a letter of the data equals the name with its lookalike.
func TestLettersThatLookAlikeAreOne(t *testing.T) {
	t.Parallel()
	table := lookalikes()
	var out []string
	for _, c := range table.excluded {
		out = append(out, string(c.from))
	}
	if got := strings.Join(out, " "); got != leftOut {
		t.Errorf("the table leaves out\n%s, want\n%s", got, leftOut)
	}
	for _, r := range tableLetters(t) {
		to := confusable.GetReplacement(r)
		alike := skeletonOf("x"+string(r)+"x") == skeletonOf("x"+to+"x")
		// The data has entries for the parts of characters that folding decomposes.
		if !alike && singleRune(foldText(string(r))) != 0 && !slices.Contains(out, string(r)) {
			t.Errorf("%q (%U) and %q have skeletons %q and %q", r, r, to, skeletonOf(string(r)), skeletonOf(to))
		}
	}
}

func TestNamesWrittenInLookalikesAreOne(t *testing.T) {
	t.Parallel()
	letters := tableLetters(t)
	rapid.Check(t, func(t *rapid.T) {
		var written, alike strings.Builder
		for _, r := range rapid.SliceOfN(rapid.SampledFrom(letters), 2, 16).Draw(t, "letters") {
			to := confusable.GetReplacement(r)
			if strings.ContainsRune(leftOut, r) || singleRune(foldText(string(r))) == 0 || !rapid.Bool().Draw(t, "rewritten") {
				to = string(r)
			}
			written.WriteRune(r)
			alike.WriteString(to)
		}
		if a, b := skeletonOf(written.String()), skeletonOf(alike.String()); a != b {
			t.Fatalf("%q has %q, %q has %q", &written, a, &alike, b)
		}
	})
}

// Two ASCII characters are equal by case, by a pair of the data, or as i and l. No
// chain through other alphabets makes others equal.
func TestPlainCharactersStayDifferent(t *testing.T) {
	t.Parallel()
	classes := map[string]string{}
	for r := range rune(0x7f) {
		if r > ' ' {
			classes[skeletonOf(string(r))] += string(r)
		}
	}
	var several []string
	for class := range maps.Values(classes) {
		if len(class) > 1 && strings.ToLower(class[:1])+class[:1] != class[1:]+class[:1] {
			several = append(several, class)
		}
	}
	slices.Sort(several)
	if want := []string{"'`", "0Oo", "1ILil|"}; !slices.Equal(several, want) {
		t.Errorf("characters with the same skeleton are %q, want %q", several, want)
	}
}

func TestSkeletonIsAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		once := skeletonOf(text)
		if twice := skeletonOf(once); twice != once {
			t.Fatalf("%q has %q, and that has %q", text, once, twice)
		}
	})
}

// Ledgers store the results of computeSkeleton. If this test fails, raise RulesVersion
// together with the sum.
func TestRulesHaveAVersion(t *testing.T) {
	t.Parallel()
	const version, want = 2, "35c79e08cadad1bb"
	sum := sha256.New()
	for r := range rune(lastConfusable) {
		if confusable.GetReplacement(r) != "" || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Nd) {
			fmt.Fprintf(sum, "%X %q\n", r, skeletonOf(string(r)))
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil))[:16]; got != want || RulesVersion != version {
		t.Errorf("rules of version %d have the sum %s, want version %d and %s", RulesVersion, got, version, want)
	}
}
