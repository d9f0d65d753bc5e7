package nickname

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// readable are the characters of random strings: none that is taken for another
// in some typeface, and no vowel nor a digit that stands for one, so that they
// spell no word.
const readable = "bdghjmnpqtwxz679"

const (
	joint        = "-"
	suffixLength = 3
	aloneLength  = 6 // of a random string that stands alone
)

// Suggest gives one candidate near the wish: as much of it as fits, and a
// short random string. It is a valid name, also for a wish that is none, but
// may be taken: ask the filter, then the ledger, and call again for another.
// The generator is used by one goroutine at a time.
func Suggest(wish Name, rng *rand.Rand) Name {
	suffix := joint + randomString(rng, suffixLength)
	for length := MaxLength - len(suffix); length > 0; length-- {
		// What was cut off may have been what the profile wants beside the
		// rest, so a shorter piece can be valid where a longer one is not.
		if name, err := Parse(clip(wish.Display, length) + suffix); err == nil {
			return name
		}
	}
	return plain(randomString(rng, aloneLength))
}

// Dress gives one candidate near the wish with words of the player's language:
// an adjective before as much of the wish as fits, or after it an animal. It is
// a valid name and may be taken, as for Suggest; for a wish that goes with no
// word it is a generated one.
func Dress(wish Name, lang string, rng *rand.Rand) Name {
	words := wordsIn(lang)
	before, after := words.adjectives[rng.IntN(len(words.adjectives))], ""
	if rng.IntN(2) == 0 {
		before, after = "", words.animals[rng.IntN(len(words.animals))]
	}
	for length := MaxLength - utf8.RuneCountInString(before+after); length > 0; length-- {
		if name, err := Parse(before + clip(wish.Display, length) + after); err == nil {
			return name
		}
	}
	return Generate(lang, rng)
}

// clip is at most the first so many graphemes of s, within the bytes that a
// suffix leaves, without a space at the end.
func clip(s string, length int) string {
	end, state := 0, -1
	for rest := s; length > 0 && rest != ""; length-- {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end+len(cluster) > MaxBytes-len(joint)-suffixLength {
			break
		}
		end += len(cluster)
	}
	return strings.TrimRight(s[:end], " ")
}

func randomString(rng *rand.Rand, length int) string {
	b := make([]byte, length)
	for i := range b {
		b[i] = readable[rng.IntN(len(readable))]
	}
	return string(b)
}

// plain is the Name of a text from our own words and characters.
func plain(text string) Name {
	name, err := Parse(text)
	if err != nil {
		panic("nickname: made up an invalid name: " + err.Error())
	}
	return name
}
