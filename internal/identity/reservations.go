package identity

import (
	"context"
	"strings"
	"time"

	"laststand/internal/nickname"
)

// ReservationTTL is how long a suggested nickname is reserved for its requester.
const ReservationTTL = 20 * time.Second

// How many nicknames can be reserved for one requester. Above the limit the oldest is
// released. MaxReserved applies to a player or device. MaxReservedShared applies to a
// network address, which a whole school may share.
const (
	MaxReserved       = 30
	MaxReservedShared = 300
)

// NameReservations reserves suggested nicknames. All nodes share the reservations. A
// nickname is reserved by its skeleton. Only the ledger decides which player gets a name.
type NameReservations interface {
	// Reserve reserves names for a requester for ReservationTTL. It returns for each
	// name whether the name is now reserved for the requester.
	Reserve(ctx context.Context, reservation Reservation) ([]bool, error)
	// ReservedFor returns the requester for whom a skeleton is reserved, or "".
	ReservedFor(ctx context.Context, game, skeleton string) (requester string, err error)
}

// Reservation asks to reserve skeletons for a requester.
type Reservation struct {
	Game, Requester string
	// Shared means that several clients may have the same requester. A name that is
	// already reserved for this requester then counts as another client's, and the
	// limit is MaxReservedShared.
	Shared    bool
	Skeletons []string
}

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
	for _, part := range []struct{ kind, name string }{{"p:", r.Player}, {"d:", r.device}, {addressKeyPrefix, r.Address}} {
		if part.name != "" {
			storeKeys = append(storeKeys, part.kind+part.name)
		}
	}
	return storeKeys
}

const addressKeyPrefix = "a:"

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
	reservation := Reservation{Game: game, Requester: storeKeys[0], Shared: strings.HasPrefix(storeKeys[0], addressKeyPrefix)}
	for _, name := range names {
		reservation.Skeletons = append(reservation.Skeletons, name.Skeleton)
	}
	ctx, cancel := context.WithTimeout(ctx, reservationTimeout)
	defer cancel()
	isReserved, err := n.Reservations.Reserve(ctx, reservation)
	if err != nil {
		n.metrics.failedSuggestions.WithLabelValues(game, suggestionNotStored).Inc()
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

// isReservedForOthers returns true if a nickname is reserved for another requester.
func (n *nicknames) isReservedForOthers(ctx context.Context, game string, name nickname.Name, requester Requester) bool {
	if n.Reservations == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, reservationTimeout)
	defer cancel()
	owner, err := n.Reservations.ReservedFor(ctx, game, name.Skeleton)
	if err != nil {
		n.metrics.failedSuggestions.WithLabelValues(game, suggestionNotStored).Inc()
		return false
	}
	for _, key := range requester.storeKeys() {
		if key == owner {
			return false
		}
	}
	return owner != ""
}
