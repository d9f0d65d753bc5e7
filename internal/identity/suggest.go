package identity

import (
	"context"
	"math/rand/v2"

	"laststand/internal/nickname"
)

const (
	suggestions   = 3
	suggestRounds = 12 // of which the second half makes up names from nothing of the wish
)

// suggest gives three nicknames near the wish that are free, and kept for the
// asker where that can be; none where so many could not be found.
func (r *Registry) suggest(ctx context.Context, game string, wish nickname.Name, who Asker) ([]string, error) {
	s := suggester{wish: wish, lang: who.Lang, words: r.Words[game], rng: newRand(), seen: map[string]bool{}}
	var found []string
	for round := range suggestRounds {
		var free []nickname.Name
		for place := len(found); place < suggestions; place++ {
			n, ok := s.draw(place, round >= suggestRounds/2)
			if !ok {
				continue
			}
			isFree, err := r.free(ctx, game, n)
			if err != nil {
				return nil, err
			}
			if isFree {
				free = append(free, n)
			}
		}
		for _, n := range r.offer(ctx, game, who, free) {
			found = append(found, n.Display)
		}
		if len(found) == suggestions {
			return found, nil
		}
	}
	r.wishes.suggestions.WithLabelValues(game, suggestionNotFound).Inc()
	return nil, nil
}

// suggester draws nicknames for one answer, none twice.
type suggester struct {
	wish  nickname.Name
	lang  string
	words *nickname.Words
	rng   *rand.Rand
	seen  map[string]bool // skeletons
}

// draw makes up a nickname for a place among the suggestions: the last one is of
// words of the player's language, the others end in a random string.
func (s *suggester) draw(place int, freely bool) (nickname.Name, bool) {
	var n nickname.Name
	switch {
	case freely:
		n = nickname.Generate(s.lang, s.rng)
	case place == suggestions-1:
		n = nickname.SuggestWithWords(s.wish, s.lang, s.rng)
	default:
		n = nickname.Suggest(s.wish, s.rng)
	}
	if s.seen[n.Skeleton] || s.words.Refuse(n) != nil {
		return nickname.Name{}, false
	}
	s.seen[n.Skeleton] = true
	return n, true
}
