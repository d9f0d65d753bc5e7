package identity

import (
	"context"
	"strings"
	"time"

	"laststand/internal/nickname"
)

// OfferFor is how long a suggested nickname is kept for whom it was suggested to.
const OfferFor = 20 * time.Second

// How many nicknames are kept for one asker at a time, beyond which the oldest is
// let go: of a player or a device, and of an address, which a school may share.
const (
	MaxOffers = 30
	MaxShared = 300
)

// Offers keeps suggested nicknames, over all nodes, for those who got them. A
// nickname is kept by its skeleton and by nobody else's claim is it lost: the
// ledger alone decides.
type Offers interface {
	// Offer keeps for an asker, for OfferFor, what is kept for nobody else, and
	// says of each whether it now is.
	Offer(ctx context.Context, o Offering) ([]bool, error)
	// Offered gives whom a skeleton is kept for, "" for nobody.
	Offered(ctx context.Context, game, skeleton string) (asker string, err error)
}

// Offering is what an asker is offered. Shared: several may stand behind the
// asker, so that what is kept for it already is another's, and it has more.
type Offering struct {
	Game, Asker string
	Shared      bool
	Skeletons   []string
}

// Asker is who asks for a nickname, as far as that is known. What is suggested
// to a player is kept for that player, else for the device, else for the
// address; and who claims it may be known by any of them. Those who share an
// address are told different ones, and any of them may claim them.
type Asker struct {
	Player  string // an id
	Address string // of the network; of IPv6 the part that one customer has
	Lang    string // of suggestions, such as zh-CN; "": English

	device string // a hash
}

// keys are the names of an asker among Offers, the narrowest first.
func (a Asker) keys() (keys []string) {
	for _, k := range []struct{ kind, name string }{{"p:", a.Player}, {"d:", a.device}, {ofAddress, a.Address}} {
		if k.name != "" {
			keys = append(keys, k.kind+k.name)
		}
	}
	return keys
}

const ofAddress = "a:"

// offersWithin bounds the wait for Offers, without which all goes on.
const offersWithin = 250 * time.Millisecond

// offer keeps nicknames for an asker and gives those that are. Where nobody can
// keep them they are given as they are.
func (r *Registry) offer(ctx context.Context, game string, who Asker, names []nickname.Name) []nickname.Name {
	keys := who.keys()
	if r.Offers == nil || len(keys) == 0 || len(names) == 0 {
		return names
	}
	o := Offering{Game: game, Asker: keys[0], Shared: strings.HasPrefix(keys[0], ofAddress)}
	for _, n := range names {
		o.Skeletons = append(o.Skeletons, n.Skeleton)
	}
	ctx, cancel := context.WithTimeout(ctx, offersWithin)
	defer cancel()
	kept, err := r.Offers.Offer(ctx, o)
	if err != nil {
		r.wishes.suggestions.WithLabelValues(game, suggestionNotStored).Inc()
		return names
	}
	var theirs []nickname.Name
	for i, n := range names {
		if kept[i] {
			theirs = append(theirs, n)
		}
	}
	return theirs
}

// keptForOthers says whether a nickname was suggested to somebody else just now.
func (r *Registry) keptForOthers(ctx context.Context, game string, n nickname.Name, who Asker) bool {
	if r.Offers == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, offersWithin)
	defer cancel()
	whose, err := r.Offers.Offered(ctx, game, n.Skeleton)
	if err != nil {
		r.wishes.suggestions.WithLabelValues(game, suggestionNotStored).Inc()
		return false
	}
	for _, key := range who.keys() {
		if key == whose {
			return false
		}
	}
	return whose != ""
}
