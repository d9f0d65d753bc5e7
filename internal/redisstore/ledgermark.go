package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// ledgerKey is the key of what the nodes know about the ledger: a hash.
const ledgerKey = "ledger"

// LedgerMark stores the last position of the ledger that a node has seen, and how often the
// ledger went back. All nodes share it. It is safe for concurrent use.
type LedgerMark struct{ client redis.UniversalClient }

// NewLedgerMark returns the mark of all nodes of this Redis.
func NewLedgerMark(client redis.UniversalClient) *LedgerMark { return &LedgerMark{client} }

// Load returns the stored position, "" if there is none, and how often the ledger went back.
func (m *LedgerMark) Load(ctx context.Context) (position string, wentBack int64, err error) {
	fields, err := m.client.HGetAll(ctx, ledgerKey).Result()
	if err == nil && fields["went_back"] != "" {
		wentBack, err = strconv.ParseInt(fields["went_back"], 10, 64)
	}
	if err != nil {
		return "", 0, fmt.Errorf("redisstore: ledger mark: %w", err)
	}
	return fields["position"], wentBack, nil
}

// Store stores a position, and adds to how often the ledger went back. It returns the sum.
func (m *LedgerMark) Store(ctx context.Context, position string, wentBack int64) (sum int64, err error) {
	var added *redis.IntCmd
	_, err = m.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.HSet(ctx, ledgerKey, "position", position)
		added = pipe.HIncrBy(ctx, ledgerKey, "went_back", wentBack)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("redisstore: store ledger mark: %w", err)
	}
	return added.Val(), nil
}
