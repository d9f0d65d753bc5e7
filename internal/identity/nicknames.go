package identity

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"laststand/internal/nickname"
)

type nicknames struct {
	Config
	views      map[string]*nameView // by game
	holdsUntil atomic.Int64         // until when held nicknames are checked, epoch ms; see LedgerWentBack
	metrics    nicknameMetrics
}

// parseName parses a requested nickname and checks it against the game's refused words.
// Errors wrap nickname.ErrInvalid.
func (n *nicknames) parseName(game, raw string) (nickname.Name, error) {
	name, err := nickname.Parse(raw)
	if err == nil {
		err = n.Words[game].Refuse(name)
	}
	switch {
	case errors.Is(err, nickname.ErrWord):
		n.metrics.refusals.WithLabelValues(game, refusalWord).Inc()
	case err != nil:
		n.metrics.refusals.WithLabelValues(game, refusalInvalid).Inc()
	}
	return name, err
}

// isFree returns true if no player has the nickname. It asks the ledger only if the
// nickname may be in the view.
func (n *nicknames) isFree(ctx context.Context, game string, name nickname.Name) (bool, error) {
	view := n.views[game]
	lookup := view.lookUp(name)
	if lookup == lookupAbsent {
		view.countLookup(lookup, false)
		return true, nil
	}
	taken, err := n.Names.NicknameTaken(ctx, game, name.Skeleton)
	if err == nil {
		view.countLookup(lookup, taken)
	}
	return !taken, err
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
