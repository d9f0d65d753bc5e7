// Package redisnames keeps suggested nicknames in Redis for those who got them.
// It implements identity.Offers.
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
	//go:embed offer.lua
	offerSource string

	offerScript = redis.NewScript(offerSource)
)

// Store is safe for concurrent use. It holds as much as was asked for in the
// last seconds: identity.MaxOffers names an asker at the most, or MaxShared.
type Store struct {
	client redis.UniversalClient
	keep   time.Duration
}

// New makes a store that keeps names for identity.OfferFor.
func New(client redis.UniversalClient) *Store {
	return &Store{client: client, keep: identity.OfferFor}
}

// Offer implements identity.Offers. Called again for a lost reply it gives the
// same, but for a shared asker, who then gets others.
func (s *Store) Offer(ctx context.Context, o identity.Offering) ([]bool, error) {
	keys, most := []string{askerKey(o.Game, o.Asker)}, identity.MaxOffers
	if o.Shared {
		most = identity.MaxShared
	}
	args := []any{o.Asker, s.keep.Milliseconds(), most, offeredPrefix(o.Game), o.Shared}
	for _, skeleton := range o.Skeletons {
		keys = append(keys, offeredKey(o.Game, skeleton))
		args = append(args, skeleton)
	}
	reply, err := offerScript.Run(ctx, s.client, keys, args...).BoolSlice()
	if err == nil && len(reply) != len(o.Skeletons) {
		err = fmt.Errorf("%d answers for %d names", len(reply), len(o.Skeletons))
	}
	if err != nil {
		return nil, fmt.Errorf("redisnames: offer: %w", err)
	}
	return reply, nil
}

// Offered implements identity.Offers.
func (s *Store) Offered(ctx context.Context, game, skeleton string) (string, error) {
	asker, err := s.client.Get(ctx, offeredKey(game, skeleton)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("redisnames: offered: %w", err)
	}
	return asker, nil
}
