package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/identity"
)

// slotPrefix returns the prefix of all keys of a game's names. It puts them in one cluster
// slot, because one script writes the keys of a requester and of names.
func slotPrefix(game string) string { return "names:{" + game + "}" }

// reservedPrefix is the start of the key of a reserved name; the skeleton follows. The
// value of the key is the requester.
func reservedPrefix(game string) string { return slotPrefix(game) + ":reserved:" }

func reservedNameKey(game, skeleton string) string { return reservedPrefix(game) + skeleton }

// requesterKey returns the key of the list of names reserved for a requester, oldest
// first.
func requesterKey(game, requester string) string { return slotPrefix(game) + ":requester:" + requester }

// Names reserves nicknames in Redis. A requester has at most identity.MaxReserved names, a
// shared requester MaxReservedShared. Names is safe for concurrent use.
type Names struct {
	client redis.UniversalClient
	ttl    time.Duration // how long a name is reserved
}

// NewNames makes a store that reserves names for identity.ReservationTTL.
func NewNames(client redis.UniversalClient) *Names {
	return &Names{client: client, ttl: identity.ReservationTTL}
}

// Reserve reserves names for a requester; see identity.NameReservations. If a reply was
// lost, a repeated call returns the same result. For a shared requester it returns false
// for the names that the first call has reserved.
func (s *Names) Reserve(ctx context.Context, reservation identity.Reservation) ([]bool, error) {
	keys, maxNames := []string{requesterKey(reservation.Game, reservation.Requester)}, identity.MaxReserved
	if reservation.Shared {
		maxNames = identity.MaxReservedShared
	}
	args := []any{reservation.Requester, s.ttl.Milliseconds(), maxNames, reservedPrefix(reservation.Game), reservation.Shared}
	for _, skeleton := range reservation.Skeletons {
		keys = append(keys, reservedNameKey(reservation.Game, skeleton))
		args = append(args, skeleton)
	}
	isReserved, err := reserveNamesScript.Run(ctx, s.client, keys, args...).BoolSlice()
	if err == nil && len(isReserved) != len(reservation.Skeletons) {
		err = fmt.Errorf("%d replies for %d names", len(isReserved), len(reservation.Skeletons))
	}
	if err != nil {
		return nil, fmt.Errorf("redisstore: reserve: %w", err)
	}
	return isReserved, nil
}

// ReservedFor returns the requester for whom a skeleton is reserved, or "".
func (s *Names) ReservedFor(ctx context.Context, game, skeleton string) (string, error) {
	requester, err := s.client.Get(ctx, reservedNameKey(game, skeleton)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("redisstore: reserved for: %w", err)
	}
	return requester, nil
}
