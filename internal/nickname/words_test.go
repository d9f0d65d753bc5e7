package nickname

import (
	"slices"
	"strings"
	"testing"
)

// Every pair of words makes a valid name, so Generate cannot panic.
func TestEveryGeneratedNameIsValid(t *testing.T) {
	t.Parallel()
	for _, words := range []wordList{english, chinese} {
		for _, adjective := range words.adjectives {
			for _, animal := range words.animals {
				text := adjective + animal + nameSeparator + strings.Repeat(randomChars[:1], generatedLength)
				if name, err := Parse(text); err != nil || name.Display != text {
					t.Errorf("%q parses as %+q, %v", text, name, err)
				}
			}
		}
	}
}

// Generated names contain no word of the built-in lists. No pair of words contains one, and the
// random characters cannot spell one.
func TestGeneratedNamesContainNoRefusedWord(t *testing.T) {
	t.Parallel()
	blocklist, err := NewWords(WordsConfig{Lists: BuiltinLists()})
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []wordList{english, chinese} {
		for _, adjective := range words.adjectives {
			for _, animal := range words.animals {
				if err := blocklist.Refuse(mustParse(adjective + animal + nameSeparator + randomChars[:generatedLength])); err != nil {
					t.Errorf("%s %s: %v", adjective, animal, err)
				}
			}
		}
	}
	canonicalChars := canonicalForm(randomChars)
	for _, list := range []map[string]reason{blocklist.blockedWords, blocklist.blockedParts} {
		for word := range list {
			if strings.Trim(word, canonicalChars) == "" {
				t.Errorf("random texts may spell %q", word)
			}
		}
	}
}

func TestGeneratorWordsAreDistinct(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{english.adjectives, english.animals, chinese.adjectives, chinese.animals} {
		sorted := slices.Sorted(slices.Values(words))
		if len(words) < 30 || len(slices.Compact(sorted)) != len(words) {
			t.Errorf("%d words, want at least 30 and none of them twice: %v", len(words), words)
		}
	}
}
