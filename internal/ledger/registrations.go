package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/identity"
	"laststand/internal/loop"
)

const (
	// maxRegistrationBatch limits the players of one transaction.
	maxRegistrationBatch = 256
	// registrationTimeout limits the duration of a transaction of new players.
	registrationTimeout = 5 * time.Second
)

// registration is a new player to insert.
type registration struct {
	identity.NewPlayer
	created bool // whether the player was inserted
}

// newRegistrationBatcher returns the Batcher that inserts new players together.
func newRegistrationBatcher(workers int, r prometheus.Registerer, admit func(context.Context, []*registration) error) *loop.Batcher[*registration] {
	sizes := promauto.With(r).NewHistogram(prometheus.HistogramOpts{
		Name: "laststand_ledger_registration_batch_size", Help: "New players per registration transaction.", Buckets: prometheus.ExponentialBuckets(1, 2, 9),
	})
	return &loop.Batcher[*registration]{
		MaxBatch: maxRegistrationBatch, Workers: workers, Timeout: registrationTimeout, CanSplit: isCausedByOnePlayer,
		Run: func(ctx context.Context, batch []*registration) error {
			sizes.Observe(float64(len(batch)))
			for _, reg := range batch {
				reg.created = false // a former transaction may have set it before it failed
			}
			return admit(ctx, batch)
		},
	}
}

// register inserts a player, and reports whether it was created. It is not if the id, the
// device or the skeleton is taken. If ctx ends, register returns immediately; the player
// may be inserted or not.
func (s *Players) register(ctx context.Context, p identity.NewPlayer) (created bool, err error) {
	reg := &registration{NewPlayer: p}
	if err := s.registrations.Do(ctx, reg); err != nil {
		return false, err
	}
	return reg.created, nil
}

// isCausedByOnePlayer reports whether transactions of one player each may succeed after an
// error. They may after a deadlock (SQLSTATE 40P01) and after errors of the data, but not
// if the database is unavailable.
func isCausedByOnePlayer(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return !IsUnavailable(err) || ok && pgErr.Code == "40P01"
}
