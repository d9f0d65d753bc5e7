package ledger

import (
	"context"
	"errors"
	"testing"

	"laststand/internal/testenv"
)

// A commit that waits for the lock on the head reads the clock after it has the lock. So
// no entry of a later position has an earlier time. SQLite has one writer, whose
// transaction begins with the lock.
func TestTheClockIsReadUnderTheLock(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	holder, other := openLedger(t, db), openLedger(t, db)
	testenv.Need(holder.Days.StartNewDays(t.Context(), game))(t)
	r := duel("m1", 1, "p1", "p2")
	ended := make(chan error, 1)
	var before int64
	err := holder.inTx(t.Context(), func(tx *transaction) error {
		if lockHeadRow(t.Context(), tx, game); tx.err != nil {
			ended <- nil
			return tx.err
		}
		go func() { // ends after the lock on the head is released
			_, err := other.Results.Commit(t.Context(), results(r))
			ended <- err
		}()
		if err := holder.awaitLock(t.Context(), "transactionid", func() bool { return len(ended) > 0 }); err != nil {
			return err
		}
		for first := int64(0); before <= first; { // until the clock has advanced during the wait
			if err := holder.readPool.QueryRowContext(t.Context(), holder.expandSQL("SELECT {now}")).Scan(&before); err != nil {
				return err
			}
			if first == 0 {
				first = before + 2
			}
		}
		return nil
	})
	testenv.NoError(t, errors.Join(err, <-ended))
	if at := readEntries(t, other, r).committedAt; at < before {
		t.Errorf("entry time %d, but the lock was released after %d", at, before)
	}
}

// awaitLock returns when a transaction waits for a lock of a kind, or when over is closed.
func (l *Ledger) awaitLock(ctx context.Context, kind string, over func() bool) error {
	for waiting := 0; waiting == 0 && !over(); {
		err := l.readPool.QueryRowContext(ctx, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = $1", kind).Scan(&waiting)
		if err != nil {
			return err
		}
	}
	return nil
}
