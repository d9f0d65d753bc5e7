package identity

import (
	"context"
	"math/rand/v2"

	"laststand/internal/nickname"
)

const (
	suggestionCount  = 3  // in one reply
	maxSuggestRounds = 12 // rounds of draws for one reply; the second half ignores the requested name
)

// suggest returns three free nicknames similar to the requested one, and reserves them for
// the requester if possible. It returns none if it does not find three.
func (n *nicknames) suggest(ctx context.Context, game string, requested nickname.Name, requester Requester) ([]string, error) {
	s := suggester{requested: requested, lang: requester.Lang, words: n.Words[game], rng: newRand(), seen: map[string]bool{}}
	var found []string
	for round := range maxSuggestRounds {
		var free []nickname.Name
		for place := len(found); place < suggestionCount; place++ {
			name, ok := s.draw(place, round >= maxSuggestRounds/2)
			if !ok {
				continue
			}
			isFree, err := n.isFree(ctx, game, name)
			if err != nil {
				return nil, err
			}
			if isFree {
				free = append(free, name)
			}
		}
		for _, name := range n.reserve(ctx, game, requester, free) {
			found = append(found, name.Display)
		}
		if len(found) == suggestionCount {
			return found, nil
		}
	}
	n.metrics.failedSuggestions.WithLabelValues(game, suggestionNotFound).Inc()
	return nil, nil
}

type suggester struct {
	requested nickname.Name
	lang      string
	words     *nickname.Words // refused words
	rng       *rand.Rand
	seen      map[string]bool // skeletons of the nicknames drawn so far
}

// draw makes a nickname for a place among the suggestions, from 0. The last place uses
// words of the player's language, the others append a random string. If ignoreRequested is
// true, draw does not use the requested name. It returns false if the nickname was drawn
// before or contains a refused word.
func (s *suggester) draw(place int, ignoreRequested bool) (nickname.Name, bool) {
	var name nickname.Name
	switch {
	case ignoreRequested:
		name = nickname.Generate(s.lang, s.rng)
	case place == suggestionCount-1:
		name = nickname.SuggestWithWords(s.requested, s.lang, s.rng)
	default:
		name = nickname.Suggest(s.requested, s.rng)
	}
	if s.seen[name.Skeleton] || s.words.Refuse(name) != nil {
		return nickname.Name{}, false
	}
	s.seen[name.Skeleton] = true
	return name, true
}

// checkClaimable parses a nickname that the requester may claim. It returns a
// *TakenError if the nickname is reserved for another.
func (n *nicknames) checkClaimable(ctx context.Context, game, raw string, requester Requester) (nickname.Name, error) {
	name, err := n.parseName(game, raw)
	if err == nil && n.isReservedForOthers(ctx, game, name, requester) {
		err = n.takenError(ctx, game, name, requester, refusalReserved)
	}
	return name, err
}

// takenError returns the error for a nickname that is taken or reserved: a *TakenError
// with suggestions, or the error of the search for suggestions.
func (n *nicknames) takenError(ctx context.Context, game string, name nickname.Name, requester Requester, reason string) error {
	n.metrics.refusals.WithLabelValues(game, reason).Inc()
	suggested, err := n.suggest(ctx, game, name, requester)
	if err != nil {
		return err
	}
	return &TakenError{Suggestions: suggested}
}

// newRand returns a random source for drawing nicknames. Only one goroutine may use it.
func newRand() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // a nickname is no secret
}
