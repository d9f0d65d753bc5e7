package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/timer"
)

// A transaction of several players is repeated player by player if one of them may be the
// cause of its error. If the database is unreachable, it is not.
func TestOnlyErrorsThatOnePlayerMayCauseSplitATransaction(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		errors.New("refused"):          true,
		&pgconn.PgError{Code: "40P01"}: true, // a deadlock
		&pgconn.PgError{Code: "53100"}: false,
		context.DeadlineExceeded:       false,
		driver.ErrBadConn:              false,
	} {
		batcher := newRegistrationBatcher(1, prometheus.NewRegistry(), nil)
		if got := batcher.CanSplit(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// The outcome of a failed transaction does not count in the next one.
func TestAPlayerOfAFailedTransactionIsNotCreated(t *testing.T) {
	t.Parallel()
	fails := true
	players := &Players{registrations: newRegistrationBatcher(1, prometheus.NewRegistry(), func(_ context.Context, batch []*registration) error {
		if fails {
			batch[0].created = true
			return errors.New("commit failed")
		}
		return nil
	})}
	if created, err := players.register(t.Context(), identity.NewPlayer{ID: "p"}); created || err == nil {
		t.Errorf("created %v, %v; want the error of the transaction", created, err)
	}
	fails = false
	reg := &registration{created: true}
	if err := players.registrations.Do(t.Context(), reg); err != nil || reg.created {
		t.Errorf("created %v, %v; want false: this transaction did not insert the player", reg.created, err)
	}
}

// Another node may take the players that a closing ledger refuses.
func TestAClosedLedgerIsUnavailable(t *testing.T) {
	t.Parallel()
	players := &Players{registrations: newRegistrationBatcher(1, prometheus.NewRegistry(), nil)}
	players.registrations.Close()
	if _, err := players.register(t.Context(), identity.NewPlayer{ID: "p"}); !errors.Is(err, timer.ErrBatcherClosed) || !IsUnavailable(err) {
		t.Errorf("%v, want an error for which IsUnavailable is true", err)
	}
}
