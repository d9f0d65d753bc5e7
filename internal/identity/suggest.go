package identity

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

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

// ReservationTTL is how long a suggested nickname is reserved for its requester.
const ReservationTTL = 20 * time.Second

// Requester is the client that requests a nickname, as far as the server knows it. The
// server reserves a suggestion for the player; without a player for the device; without a
// device for the address. A client is recognised by any of the three. Clients with the same
// address get different suggestions, and each of them may claim any of these.
type Requester struct {
	Player  string // an id
	Address string // network address; for IPv6 the prefix of one customer
	Lang    string // language of suggestions, such as zh-CN; "": English

	device string // hash of the device secret
}

// storeKeys returns the names under which NameReservations knows the requester: by player, by
// device and by address, as far as they are known, in this order.
func (r Requester) storeKeys() (storeKeys []string) {
	for _, part := range []struct{ kind, name string }{{"p:", r.Player}, {"d:", r.device}, {"a:", r.Address}} {
		if part.name != "" {
			storeKeys = append(storeKeys, part.kind+part.name)
		}
	}
	return storeKeys
}

// reservationTimeout is the time limit for a call of NameReservations. After it the server
// continues as if no name was reserved.
const reservationTimeout = 250 * time.Millisecond

// reserve reserves nicknames for a requester. It returns those that are now reserved for
// the requester, or all if the store fails.
func (n *nicknames) reserve(ctx context.Context, game string, requester Requester, names []nickname.Name) []nickname.Name {
	storeKeys := requester.storeKeys()
	if n.Reservations == nil || len(storeKeys) == 0 || len(names) == 0 {
		return names
	}
	var skeletons []string
	for _, name := range names {
		skeletons = append(skeletons, name.Skeleton)
	}
	var isReserved []bool
	ok := n.callReservations(ctx, game, func(ctx context.Context) (err error) {
		isReserved, err = n.Reservations.Reserve(ctx, game, storeKeys[0], skeletons)
		return err
	})
	if !ok {
		return names
	}
	var reserved []nickname.Name
	for i, name := range names {
		if isReserved[i] {
			reserved = append(reserved, name)
		}
	}
	return reserved
}

// HoldTTL is how long a claimed nickname is held for its holder, in case the ledger loses the
// claim.
const HoldTTL = 5 * time.Minute

// hold holds a nickname that the holder has claimed. After an error it is not held.
func (n *nicknames) hold(ctx context.Context, game string, holder Requester, name nickname.Name) {
	if n.Reservations != nil {
		n.callReservations(ctx, game, func(ctx context.Context) error {
			return n.Reservations.Hold(ctx, game, holder.storeKeys()[0], name.Skeleton)
		})
	}
}

// isReservedForOthers returns true if a nickname is reserved for another requester, or held for
// one after the ledger went back.
func (n *nicknames) isReservedForOthers(ctx context.Context, game string, name nickname.Name, requester Requester) bool {
	return n.Reservations != nil && n.belongsToOthers(ctx, game, name, requester, n.Reservations.ReservedFor) ||
		n.isHeldForOthers(ctx, game, name, requester)
}

// isHeldForOthers returns true if the ledger went back, and may have lost that another requester
// has claimed the nickname.
func (n *nicknames) isHeldForOthers(ctx context.Context, game string, name nickname.Name, requester Requester) bool {
	return n.Reservations != nil && n.Tokens.now() < n.holdsUntil.Load() && n.belongsToOthers(ctx, game, name, requester, n.Reservations.HeldFor)
}

func (n *nicknames) belongsToOthers(
	ctx context.Context, game string, name nickname.Name, requester Requester, find func(ctx context.Context, game, skeleton string) (string, error),
) bool {
	owner := ""
	n.callReservations(ctx, game, func(ctx context.Context) (err error) {
		owner, err = find(ctx, game, name.Skeleton)
		return err
	})
	return owner != "" && !slices.Contains(requester.storeKeys(), owner)
}

// callReservations makes one call of NameReservations, with the time limit reservationTimeout.
// It counts a failure and returns false.
func (n *nicknames) callReservations(ctx context.Context, game string, call func(context.Context) error) (ok bool) {
	ctx, cancel := context.WithTimeout(ctx, reservationTimeout)
	defer cancel()
	err := call(ctx)
	if err != nil {
		n.metrics.failedSuggestions.WithLabelValues(game, suggestionNotStored).Inc()
	}
	return err == nil
}
