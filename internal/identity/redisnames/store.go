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
	keep   time.Duration // how long a name is reserved
}

// New makes a store that reserves names for identity.ReservationTTL.
func New(client redis.UniversalClient) *Store {
	return &Store{client: client, keep: identity.ReservationTTL}
}

// Reserve reserves names for a requester; see identity.NameReservations. If a reply was
// lost, a repeated call returns the same result. For a shared requester it returns false
// for the names that the first call has reserved.
func (s *Store) Reserve(ctx context.Context, o identity.Reservation) ([]bool, error) {
	keys, most := []string{requesterKey(o.Game, o.Requester)}, identity.MaxReserved
	if o.Shared {
		most = identity.MaxReservedShared
	}
	args := []any{o.Requester, s.keep.Milliseconds(), most, reservedPrefix(o.Game), o.Shared}
	for _, skeleton := range o.Skeletons {
		keys = append(keys, reservedKey(o.Game, skeleton))
		args = append(args, skeleton)
	}
	reply, err := reserveScript.Run(ctx, s.client, keys, args...).BoolSlice()
	if err == nil && len(reply) != len(o.Skeletons) {
		err = fmt.Errorf("%d replies for %d names", len(reply), len(o.Skeletons))
	}
	if err != nil {
		return nil, fmt.Errorf("redisnames: reserve: %w", err)
	}
	return reply, nil
}

// ReservedFor returns the requester for whom a skeleton is reserved, or "".
func (s *Store) ReservedFor(ctx context.Context, game, skeleton string) (string, error) {
	requester, err := s.client.Get(ctx, reservedKey(game, skeleton)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("redisnames: reserved for: %w", err)
	}
	return requester, nil
}
