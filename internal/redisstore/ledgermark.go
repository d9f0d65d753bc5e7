package redisstore

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// ledgerKey is the key of what the nodes know about the ledger: a hash.
const ledgerKey = "ledger"

// LedgerMark stores the last position of the ledger that a node has seen, and when the ledger
// went back. All nodes share it. It is safe for concurrent use.
type LedgerMark struct{ client redis.UniversalClient }

// NewLedgerMark returns the mark of all nodes of this Redis.
func NewLedgerMark(client redis.UniversalClient) *LedgerMark { return &LedgerMark{client} }

// Load returns the stored position, "" if there is none, and when the ledger last went back, epoch
// ms; 0: never.
func (m *LedgerMark) Load(ctx context.Context) (position string, wentBackAt int64, err error) {
	fields, err := m.client.HGetAll(ctx, ledgerKey).Result()
	if err == nil && fields["went_back_at"] != "" {
		wentBackAt, err = strconv.ParseInt(fields["went_back_at"], 10, 64)
	}
	return fields["position"], wentBackAt, wrap("read ledger mark", err)
}

// Store stores a position, and when the ledger went back; 0 leaves the stored time.
func (m *LedgerMark) Store(ctx context.Context, position string, wentBackAt int64) error {
	fields := []any{"position", position}
	if wentBackAt > 0 {
		fields = append(fields, "went_back_at", wentBackAt)
	}
	return wrap("store ledger mark", m.client.HSet(ctx, ledgerKey, fields...).Err())
}
