package nickname

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

const (
	suffixLength     = 3 // length of the random text after a name
	standaloneLength = 6 // length of a random text without a name
)

// Suggest returns a name that is similar to the requested one: as much of it as fits, and a
// short random text. The returned name is valid, even if the requested name is not, but may
// be taken. If it is taken, call Suggest again. rng must not be used concurrently.
func Suggest(requested Name, rng *rand.Rand) Name {
	if name, ok := surround("", requested, nameSeparator+randomString(rng, suffixLength)); ok {
		return name
	}
	return mustParse(randomString(rng, standaloneLength))
}

// SuggestWithWords returns a name that is similar to the requested one, with a word of the
// player's language: an adjective before as much of the name as fits, or an animal after
// it. The returned name is valid but may be taken. If no word fits, it returns a generated
// name.
func SuggestWithWords(requested Name, lang string, rng *rand.Rand) Name {
	words := wordListFor(lang)
	prefix, suffix := words.adjectives[rng.IntN(len(words.adjectives))], ""
	if rng.IntN(2) == 0 {
		prefix, suffix = "", words.animals[rng.IntN(len(words.animals))]
	}
	if name, ok := surround(prefix, requested, suffix); ok {
		return name
	}
	return Generate(lang, rng)
}

// surround returns as much of the requested name as fits between a prefix and a suffix. The
// profile may need a character that was cut off. So a shorter part can be valid where a longer
// one is not.
func surround(prefix string, requested Name, suffix string) (name Name, ok bool) {
	for length := MaxLength - utf8.RuneCountInString(prefix+suffix); length > 0; length-- {
		if name, err := Parse(prefix + truncate(requested.Display, length) + suffix); err == nil {
			return name, true
		}
	}
	return Name{}, false
}

// truncate returns at most the first length graphemes of a text, without spaces at the end.
// The result leaves enough bytes for a suffix.
func truncate(text string, length int) string {
	end, state := 0, -1
	for rest := text; length > 0 && rest != ""; length-- {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end+len(cluster) > MaxBytes-len(nameSeparator)-suffixLength {
			break
		}
		end += len(cluster)
	}
	return strings.TrimRight(text[:end], " ")
}
