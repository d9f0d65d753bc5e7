package redisstore

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

func TestTheLedgerMarkKeepsThePositionAndCountsHowOftenTheLedgerWentBack(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		mark := NewLedgerMark(client)
		for _, step := range []struct {
			position      string
			wentBack, sum int64
		}{{"", 0, 0}, {"a", 0, 0}, {"b", 1, 1}, {"c", 0, 1}, {"b", 1, 2}} {
			if step.position != "" {
				if sum, err := mark.Store(t.Context(), step.position, step.wentBack); sum != step.sum || err != nil {
					t.Errorf("store %q: %d, %v", step.position, sum, err)
				}
			}
			if position, sum, err := mark.Load(t.Context()); position != step.position || sum != step.sum || err != nil {
				t.Errorf("load: %q, %d, %v; want %+v", position, sum, err, step)
			}
		}
	})
}
