package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
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

const (
	insertPlayers = `
WITH v (game, id, device_hash, nickname, skeleton, joined_at, rules) AS ({rows})
INSERT INTO players (game, id, device_hash, nickname, skeleton, named_at, joined_at)
SELECT game, id, NULLIF(device_hash, ''), nickname, skeleton, {now}, joined_at
FROM v WHERE ` + existsRulesUpTo + `v.rules {share}) ON CONFLICT DO NOTHING RETURNING game, id, skeleton`

	insertAccounts = `
WITH v (game, subject) AS ({rows})
INSERT INTO accounts (game, subject, changed_at, player) SELECT game, subject, {now}, subject FROM v WHERE true
ON CONFLICT DO NOTHING RETURNING game, subject`

	selectErased = `
WITH v (game, subject, hash) AS ({rows}) SELECT v.game, v.subject FROM v JOIN accounts a ON a.game = v.game AND a.subject = v.hash`

	deleteAccounts = `WITH v (game, subject) AS ({rows}) DELETE FROM accounts WHERE (game, subject) IN (SELECT game, subject FROM v)`
)

// admit inserts players in one transaction and sets created of each. It skips players
// whose device, id or skeleton is taken. It first claims the ids of players of an
// operator's login service as accounts. An id that was a guest's account, or was erased,
// can no longer be a player's own id.
//
// All transactions claim ids in the same order and then skeletons in the same order. So
// two transactions deadlock only if they insert the same devices in different orders.
func (s *Players) admit(ctx context.Context, registrations []*registration) error {
	if len(registrations) == 1 && registrations[0].DeviceHash != "" {
		return s.insertPlayers(ctx, s.database, registrations)
	}
	return s.inTx(ctx, func(tx *transaction) error {
		claimedIDs, err := s.claimIDs(ctx, tx, registrations)
		if err != nil {
			return err
		}
		erasedIDs, err := s.findErased(ctx, tx, claimedIDs)
		if err != nil {
			return err
		}
		insertable := make([]*registration, 0, len(registrations))
		for _, reg := range registrations {
			if reg.DeviceHash != "" || claimedIDs[gameKey{reg.Game, reg.ID}] && !erasedIDs[gameKey{reg.Game, reg.ID}] {
				insertable = append(insertable, reg)
			}
		}
		if err := s.insertPlayers(ctx, tx, insertable); err != nil {
			return err
		}
		for _, reg := range registrations {
			if reg.created {
				delete(claimedIDs, gameKey{reg.Game, reg.ID})
			}
		}
		return tx.bulk(ctx, deleteAccounts, sortedRows(claimedIDs), nil)
	})
}

// claimIDs claims the ids of players of an operator's login service, and returns those
// that were new.
func (s *Players) claimIDs(ctx context.Context, tx *transaction, registrations []*registration) (map[gameKey]bool, error) {
	requestedIDs, claimedIDs := map[gameKey]bool{}, map[gameKey]bool{}
	for _, reg := range registrations {
		if reg.DeviceHash == "" {
			requestedIDs[gameKey{reg.Game, reg.ID}] = true
		}
	}
	return claimedIDs, tx.bulk(ctx, insertAccounts, sortedRows(requestedIDs), scanKeys(claimedIDs))
}

// findErased returns those of the ids that belonged to erased players. It runs after the ids
// were claimed, so it sees concurrent erasures.
func (s *Players) findErased(ctx context.Context, tx *transaction, ids map[gameKey]bool) (map[gameKey]bool, error) {
	rows, erasedIDs := sortedRows(ids), map[gameKey]bool{}
	for i, row := range rows {
		rows[i] = append(row, s.hashKey.hashSubject(row[0].(string), row[1].(string)))
	}
	return erasedIDs, tx.bulk(ctx, selectErased, rows, scanKeys(erasedIDs))
}

// scanKeys returns a function that adds the key of a row.
func scanKeys(keys map[gameKey]bool) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var key gameKey
		err := rows.Scan(&key.game, &key.key)
		keys[key] = true
		return err
	}
}

// sortedRows returns one row for each key, in the order in which all transactions lock them.
func sortedRows(keys map[gameKey]bool) [][]any {
	var rows [][]any
	for gk := range keys {
		rows = append(rows, []any{gk.game, gk.key})
	}
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(a[0].(string), b[0].(string)), cmp.Compare(a[1].(string), b[1].(string)))
	})
	return rows
}

// insertPlayers inserts players and sets created of those that were inserted.
func (s *Players) insertPlayers(ctx context.Context, in bulkWriter, registrations []*registration) error {
	type key struct{ game, id, skeleton string }
	keyOf := func(a *registration) key { return key{a.Game, a.ID, a.Skeleton} }
	slices.SortStableFunc(registrations, func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.Game, b.Game), cmp.Compare(a.Skeleton, b.Skeleton))
	})
	rows, firstByKey := make([][]any, 0, len(registrations)), make(map[key]*registration, len(registrations))
	for _, a := range registrations {
		rows = append(rows, []any{a.Game, a.ID, a.DeviceHash, a.Nickname, a.Skeleton, a.JoinedAt, s.names.rules.version})
		if firstByKey[keyOf(a)] == nil {
			firstByKey[keyOf(a)] = a
		}
	}
	return in.bulk(ctx, insertPlayers, rows, func(rows *sql.Rows) error {
		var a registration
		err := rows.Scan(&a.Game, &a.ID, &a.Skeleton)
		if registered := firstByKey[keyOf(&a)]; registered != nil {
			registered.created = true
		}
		return err
	})
}
