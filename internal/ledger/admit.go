package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
)

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
		return s.insertPlayers(ctx, s.newBulkRunner(s.writePool), registrations)
	}
	return s.inTx(ctx, func(tx *sql.Tx) error {
		bulk := s.newBulkRunner(tx)
		claimedIDs, err := s.claimIDs(ctx, bulk, registrations)
		if err != nil {
			return err
		}
		erasedIDs, err := s.findErased(ctx, bulk, claimedIDs)
		if err != nil {
			return err
		}
		insertable := make([]*registration, 0, len(registrations))
		for _, reg := range registrations {
			if reg.DeviceHash != "" || claimedIDs[gameKey{reg.Game, reg.ID}] && !erasedIDs[gameKey{reg.Game, reg.ID}] {
				insertable = append(insertable, reg)
			}
		}
		if err := s.insertPlayers(ctx, bulk, insertable); err != nil {
			return err
		}
		for _, reg := range registrations {
			if reg.created {
				delete(claimedIDs, gameKey{reg.Game, reg.ID})
			}
		}
		return bulk.run(ctx, deleteAccounts, sortedRows(claimedIDs), nil)
	})
}

// claimIDs claims the ids of players of an operator's login service, and returns those
// that were new.
func (s *Players) claimIDs(ctx context.Context, bulk bulkRunner, registrations []*registration) (map[gameKey]bool, error) {
	requestedIDs, claimedIDs := map[gameKey]bool{}, map[gameKey]bool{}
	for _, reg := range registrations {
		if reg.DeviceHash == "" {
			requestedIDs[gameKey{reg.Game, reg.ID}] = true
		}
	}
	err := bulk.run(ctx, s.expandSQL(insertAccounts), sortedRows(requestedIDs), func(rows *sql.Rows) error {
		var id gameKey
		err := rows.Scan(&id.game, &id.key)
		claimedIDs[id] = true
		return err
	})
	return claimedIDs, err
}

// findErased returns those of the ids that belonged to erased players. It runs after the ids
// were claimed, so it sees concurrent erasures.
func (s *Players) findErased(ctx context.Context, bulk bulkRunner, ids map[gameKey]bool) (map[gameKey]bool, error) {
	rows, erasedIDs := sortedRows(ids), map[gameKey]bool{}
	for i, row := range rows {
		rows[i] = append(row, s.hashKey.hashSubject(row[0].(string), row[1].(string)))
	}
	err := bulk.run(ctx, selectErased, rows, func(rows *sql.Rows) error {
		var id gameKey
		err := rows.Scan(&id.game, &id.key)
		erasedIDs[id] = true
		return err
	})
	return erasedIDs, err
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
func (s *Players) insertPlayers(ctx context.Context, bulk bulkRunner, registrations []*registration) error {
	type key struct{ game, id, skeleton string }
	keyOf := func(a *registration) key { return key{a.Game, a.ID, a.Skeleton} }
	slices.SortStableFunc(registrations, func(a, bulk *registration) int {
		return cmp.Or(cmp.Compare(a.Game, bulk.Game), cmp.Compare(a.Skeleton, bulk.Skeleton))
	})
	rows, firstByKey := make([][]any, 0, len(registrations)), make(map[key]*registration, len(registrations))
	for _, a := range registrations {
		rows = append(rows, []any{a.Game, a.ID, a.DeviceHash, a.Nickname, a.Skeleton, a.JoinedAt, s.names.rules.version})
		if firstByKey[keyOf(a)] == nil {
			firstByKey[keyOf(a)] = a
		}
	}
	return bulk.run(ctx, s.expandSQL(insertPlayers), rows, func(rows *sql.Rows) error {
		var a registration
		err := rows.Scan(&a.Game, &a.ID, &a.Skeleton)
		if registered := firstByKey[keyOf(&a)]; registered != nil {
			registered.created = true
		}
		return err
	})
}
