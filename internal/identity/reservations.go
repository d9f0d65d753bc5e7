package identity

import (
	"context"
	"strings"
	"time"

	"laststand/internal/nickname"
)

// ReservationTTL is how long a suggested nickname is reserved for its requester.
const ReservationTTL = 20 * time.Second

// The maximum of nicknames reserved for one requester; beyond it the oldest is
// released. MaxReserved is for a player or device, MaxReservedShared for an address,
// which a school may share.
const (
	MaxReserved       = 30
	MaxReservedShared = 300
)

// NameReservations reserves suggested nicknames over all nodes. A nickname is reserved
// by its skeleton. The ledger alone decides who gets a name.
type NameReservations interface {
	// Reserve reserves names for a requester for ReservationTTL. It returns for each
	// whether it is now reserved for the requester.
	Reserve(ctx context.Context, o Reservation) ([]bool, error)
	// ReservedFor returns the requester that a skeleton is reserved for, "" for none.
	ReservedFor(ctx context.Context, game, skeleton string) (asker string, err error)
}

// Reservation reserves skeletons for a requester. If Shared, several clients may use
// the same requester: a name that is reserved for it counts as another's, and its
// maximum is higher.
type Reservation struct {
	Game, Requester string
	Shared          bool
	Skeletons       []string
}

// Requester is the client that requests a nickname, as far as it is known. A suggestion
// is reserved for the player, else for the device, else for the address. A client is
// recognised by any of them. Clients with the same address get different suggestions,
// and any of them may claim them.
type Requester struct {
	Player  string // an id
	Address string // network address; of IPv6 the prefix of one customer
	Lang    string // of suggestions, such as zh-CN; "": English

	device string // a hash
}

// keys returns the requester's names for NameReservations, the narrowest first.
func (a Requester) keys() (keys []string) {
	for _, k := range []struct{ kind, name string }{{"p:", a.Player}, {"d:", a.device}, {addressPrefix, a.Address}} {
		if k.name != "" {
			keys = append(keys, k.kind+k.name)
		}
	}
	return keys
}

const addressPrefix = "a:"

// reservationTimeout bounds the wait for NameReservations. After it names are not
// reserved.
const reservationTimeout = 250 * time.Millisecond

// reserve reserves nicknames for a requester and returns those that are reserved. If
// the store fails, it returns all.
func (r *Registry) reserve(ctx context.Context, game string, requester Requester, names []nickname.Name) []nickname.Name {
	keys := requester.keys()
	if r.Reservations == nil || len(keys) == 0 || len(names) == 0 {
		return names
	}
	o := Reservation{Game: game, Requester: keys[0], Shared: strings.HasPrefix(keys[0], addressPrefix)}
	for _, n := range names {
		o.Skeletons = append(o.Skeletons, n.Skeleton)
	}
	ctx, cancel := context.WithTimeout(ctx, reservationTimeout)
	defer cancel()
	kept, err := r.Reservations.Reserve(ctx, o)
	if err != nil {
		r.metrics.suggestions.WithLabelValues(game, suggestionNotStored).Inc()
		return names
	}
	var reserved []nickname.Name
	for i, n := range names {
		if kept[i] {
			reserved = append(reserved, n)
		}
	}
	return reserved
}

// isReservedForOthers returns true if a nickname is reserved for another requester.
func (r *Registry) isReservedForOthers(ctx context.Context, game string, n nickname.Name, requester Requester) bool {
	if r.Reservations == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, reservationTimeout)
	defer cancel()
	owner, err := r.Reservations.ReservedFor(ctx, game, n.Skeleton)
	if err != nil {
		r.metrics.suggestions.WithLabelValues(game, suggestionNotStored).Inc()
		return false
	}
	for _, key := range requester.keys() {
		if key == owner {
			return false
		}
	}
	return owner != ""
}
