package redisstore

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

func TestTheLedgerMarkKeepsThePositionAndWhenTheLedgerWentBack(t *testing.T) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		mark := NewLedgerMark(client)
		for _, want := range []struct {
			position   string
			wentBackAt int64
		}{{"", 0}, {"a", 0}, {"b", 7}, {"c", 9}} {
			if want.position != "" {
				err := mark.Store(t.Context(), want.position, want.wentBackAt)
				if err := errors.Join(err, mark.Store(t.Context(), want.position, 0)); err != nil {
					t.Error(err)
				}
			}
			if position, at, err := mark.Load(t.Context()); position != want.position || at != want.wentBackAt || err != nil {
				t.Errorf("load: %q, %d, %v; want %+v", position, at, err, want)
			}
		}
	})
}
