package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/identity"
)

// reservedNameKey returns the key of a reserved name. Its value is the requester. All names
// of a game are in one cluster slot, so that one round trip reserves several.
func reservedNameKey(game, skeleton string) string {
	return "names:{" + game + "}:reserved:" + skeleton
}

// Names reserves nicknames in Redis. It is safe for concurrent use.
type Names struct {
	client redis.UniversalClient
	ttl    time.Duration // how long a name is reserved
}

// NewNames makes a store that reserves names for identity.ReservationTTL.
func NewNames(client redis.UniversalClient) *Names {
	return &Names{client: client, ttl: identity.ReservationTTL}
}

// Reserve reserves names for a requester; see identity.NameReservations. If a reply is lost,
// it may return false for names that it has reserved.
func (s *Names) Reserve(ctx context.Context, game, requester string, skeletons []string) ([]bool, error) {
	var replies []*redis.BoolCmd
	_, err := s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, skeleton := range skeletons {
			replies = append(replies, pipe.SetNX(ctx, reservedNameKey(game, skeleton), requester, s.ttl))
		}
		return nil
	})
	if err != nil {
		return nil, wrap("reserve names", err)
	}
	isReserved := make([]bool, len(replies))
	for i, reply := range replies {
		isReserved[i] = reply.Val()
	}
	return isReserved, nil
}

// ReservedFor returns the requester for whom a skeleton is reserved, or "".
func (s *Names) ReservedFor(ctx context.Context, game, skeleton string) (string, error) {
	return s.requester(ctx, reservedNameKey(game, skeleton))
}

// heldNameKey returns the key of a claimed name. Its value is the holder.
func heldNameKey(game, skeleton string) string { return "names:{" + game + "}:held:" + skeleton }

// Hold notes who has claimed a name; see identity.NameReservations.
func (s *Names) Hold(ctx context.Context, game, requester, skeleton string) error {
	return wrap("hold name", s.client.Set(ctx, heldNameKey(game, skeleton), requester, identity.HoldTTL).Err())
}

// HeldFor returns the requester who has claimed a skeleton last, or "".
func (s *Names) HeldFor(ctx context.Context, game, skeleton string) (string, error) {
	return s.requester(ctx, heldNameKey(game, skeleton))
}

func (s *Names) requester(ctx context.Context, key string) (string, error) {
	requester, err := s.client.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return requester, wrap("read requester of name", err)
}
