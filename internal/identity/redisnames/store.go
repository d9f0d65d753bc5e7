package redisnames

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/identity"
)

var (
	//go:embed reserve.lua
	reserveSource string

	reserveScript = redis.NewScript(reserveSource)
)

// Store reserves nicknames in Redis. A requester has at most identity.MaxReserved names, a
// shared requester MaxReservedShared. Store is safe for concurrent use.
type Store struct {
	client redis.UniversalClient
	ttl    time.Duration // how long a name is reserved
}

// New makes a store that reserves names for identity.ReservationTTL.
func New(client redis.UniversalClient) *Store {
	return &Store{client: client, ttl: identity.ReservationTTL}
}

// Reserve reserves names for a requester; see identity.NameReservations. If a reply was
// lost, a repeated call returns the same result. For a shared requester it returns false
// for the names that the first call has reserved.
func (s *Store) Reserve(ctx context.Context, reservation identity.Reservation) ([]bool, error) {
	keys, maxNames := []string{requesterKey(reservation.Game, reservation.Requester)}, identity.MaxReserved
	if reservation.Shared {
		maxNames = identity.MaxReservedShared
	}
	args := []any{reservation.Requester, s.ttl.Milliseconds(), maxNames, reservedPrefix(reservation.Game), reservation.Shared}
	for _, skeleton := range reservation.Skeletons {
		keys = append(keys, reservedKey(reservation.Game, skeleton))
		args = append(args, skeleton)
	}
	isReserved, err := reserveScript.Run(ctx, s.client, keys, args...).BoolSlice()
	if err == nil && len(isReserved) != len(reservation.Skeletons) {
		err = fmt.Errorf("%d replies for %d names", len(isReserved), len(reservation.Skeletons))
	}
	if err != nil {
		return nil, fmt.Errorf("redisnames: reserve: %w", err)
	}
	return isReserved, nil
}

// ReservedFor returns the requester for whom a skeleton is reserved, or "".
func (s *Store) ReservedFor(ctx context.Context, game, skeleton string) (string, error) {
	requester, err := s.client.Get(ctx, reservedKey(game, skeleton)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("redisnames: reserved for: %w", err)
	}
	return requester, nil
}
