package bench

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// once is ours for events whose ids count once.
type once struct {
	*ours
	made atomic.Int64
}

func openOnce(b *testing.B, rdb *redis.Client, f *flow) way {
	return &once{ours: newOurs(b, rdb, f, gameNames(*games))}
}

func (o *once) offer(_ context.Context, games []int) error {
	for _, game := range games {
		event := *sample()
		event.ID = "end:01KAH3ZVXV1T7Q5E8W2R9Y6P4M:p_" + strconv.FormatInt(o.made.Add(1), 36)
		o.Offer(o.games[game], event)
	}
	return nil
}
