package ledger

import (
	"context"
	"errors"
	"testing"
	"time"

	"laststand/internal/testenv"
)

// Many public reads, which use all of their connections, do not delay settlement,
// leaderboards and checks of bans.
func TestPublicReadsDoNotDelaySettlement(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		public := l.Public.Names
		for range public.readPool.Stats().MaxOpenConnections {
			conn := testenv.Need(public.readPool.Conn(t.Context()))(t)
			defer conn.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := public.Nicknames(ctx, game, []string{"p_1"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a public read beside the flood ended with %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := l.Results.Commit(ctx, results(duel("m1", 1000, "p1", "p2"))); err != nil {
			t.Errorf("settlement: %v", err)
		}
		if rows, err := l.Leaderboards.ReadRows(ctx, game, 0, 10); err != nil || len(rows) == 0 {
			t.Errorf("the boards' applier: %d rows, %v", len(rows), err)
		}
		if _, err := l.Revocations.RevocationsSince(ctx, 0, 10); err != nil {
			t.Errorf("bans: %v", err)
		}
		if err := l.Ping(ctx); err != nil {
			t.Errorf("readiness: %v", err)
		}
	})
}
