package identity

import (
	"context"
	"math/rand/v2"

	"laststand/internal/nickname"
)

const (
	suggestions   = 3
	suggestRounds = 12 // the second half ignores the requested name
)

// suggest returns three free nicknames near the requested one, reserved for the
// requester if possible. It returns none if three could not be found.
func (r *Registry) suggest(ctx context.Context, game string, requested nickname.Name, requester Requester) ([]string, error) {
	s := suggester{requested: requested, lang: requester.Lang, words: r.Words[game], rng: newRand(), seen: map[string]bool{}}
	var found []string
	for round := range suggestRounds {
		var free []nickname.Name
		for place := len(found); place < suggestions; place++ {
			n, ok := s.draw(place, round >= suggestRounds/2)
			if !ok {
				continue
			}
			isFree, err := r.isFree(ctx, game, n)
			if err != nil {
				return nil, err
			}
			if isFree {
				free = append(free, n)
			}
		}
		for _, n := range r.reserve(ctx, game, requester, free) {
			found = append(found, n.Display)
		}
		if len(found) == suggestions {
			return found, nil
		}
	}
	r.metrics.suggestions.WithLabelValues(game, suggestionNotFound).Inc()
	return nil, nil
}

// suggester draws nicknames for one reply, no two equal.
type suggester struct {
	requested nickname.Name
	lang      string
	words     *nickname.Words
	rng       *rand.Rand
	seen      map[string]bool // skeletons
}

// draw makes a nickname for a place among the suggestions. The last place uses words of
// the player's language, the others append a random string.
func (s *suggester) draw(place int, freely bool) (nickname.Name, bool) {
	var n nickname.Name
	switch {
	case freely:
		n = nickname.Generate(s.lang, s.rng)
	case place == suggestions-1:
		n = nickname.SuggestWithWords(s.requested, s.lang, s.rng)
	default:
		n = nickname.Suggest(s.requested, s.rng)
	}
	if s.seen[n.Skeleton] || s.words.Refuse(n) != nil {
		return nickname.Name{}, false
	}
	s.seen[n.Skeleton] = true
	return n, true
}
