package ledger

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/metric"
	"laststand/internal/timer"
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

// newRegistrationBatcher returns the Batcher that inserts the players of devices together.
func newRegistrationBatcher(workers int, r prometheus.Registerer, admit func(context.Context, []*registration) error) *timer.Batcher[*registration] {
	sizes := metric.For(r, "laststand_ledger_").Histogram("registration_batch_size", "New players per registration transaction.", prometheus.ExponentialBuckets(1, 2, 9))
	return &timer.Batcher[*registration]{
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

// register inserts the player of a device, together with others, and reports whether it
// was created. It is not if the id, the device or the skeleton is taken. If ctx ends,
// register returns immediately; the player may be inserted or not.
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
	state, _ := errorCodes(err)
	return !IsUnavailable(err) || state == "40P01"
}

const (
	insertPlayers = `
WITH v (game, id, device_hash, nickname, skeleton, joined_at) AS ({rows})
INSERT INTO players (game, id, device_hash, nickname, skeleton, named_at, joined_at)
SELECT game, id, NULLIF(device_hash, ''), nickname, skeleton, {now}, joined_at
FROM v WHERE true ON CONFLICT DO NOTHING RETURNING game, id`

	// claimSubject names no constraint: two claims of one subject may conflict in either.
	claimSubject = `
INSERT INTO accounts (game, subject, player, changed_at) VALUES ($1, $2, $2, {now}) ON CONFLICT DO NOTHING`

	selectIsErased = `SELECT EXISTS (SELECT 1 FROM accounts WHERE game = $1 AND subject = $2)`
)

// insertNewPlayers inserts players and sets created of each. It skips players whose device,
// id or skeleton is taken. All transactions insert in the order of skeletons. So two
// transactions deadlock only if they insert the same devices in different orders.
func insertNewPlayers(ctx context.Context, tx *transaction, registrations []*registration) {
	slices.SortStableFunc(registrations, func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.Game, b.Game), cmp.Compare(a.Skeleton, b.Skeleton))
	})
	type key struct{ game, id string }
	var rows [][]any
	byKey := make(map[key]*registration, len(registrations))
	for _, reg := range registrations {
		rows = append(rows, []any{reg.Game, reg.ID, reg.DeviceHash, reg.Nickname, reg.Skeleton, reg.JoinedAt})
		byKey[key{reg.Game, reg.ID}] = reg
	}
	var inserted key
	tx.bulk(ctx, insertPlayers, rows, eachRow(func() {
		if reg := byKey[inserted]; reg != nil {
			reg.created = true
		}
	}, &inserted.game, &inserted.id))
}

// errNotCreated rolls back the transaction of a player whose id or skeleton is taken.
var errNotCreated = errors.New("the id or the skeleton is taken")

// registerSubject inserts a player of an operator's login service, and reports whether it
// was created. It first claims the id as an account. An id that was a guest's account, or
// was erased, can no longer be a player's own id.
func (s *Players) registerSubject(ctx context.Context, p identity.NewPlayer) (created bool, err error) {
	err = s.inTx(ctx, func(tx *transaction) error {
		reg := &registration{NewPlayer: p}
		isErased := false // read after the claim, which waits for a running erasure
		if tx.exec(ctx, claimSubject, p.Game, p.ID) > 0 &&
			tx.get(ctx, into(&isErased), selectIsErased, p.Game, s.hashKey.hashSubject(p.Game, p.ID)) && !isErased {
			insertNewPlayers(ctx, tx, []*registration{reg})
		}
		if !reg.created {
			return errNotCreated
		}
		return nil
	})
	if errors.Is(err, errNotCreated) {
		return false, nil
	}
	return err == nil, err
}
