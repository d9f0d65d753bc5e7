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
FROM v WHERE ` + noNewerRules + `v.rules {share}) ON CONFLICT DO NOTHING RETURNING game, id, skeleton`

	insertAccounts = `
WITH v (game, sub) AS ({rows})
INSERT INTO accounts (game, sub, at, player) SELECT game, sub, {now}, sub FROM v WHERE true
ON CONFLICT DO NOTHING RETURNING game, sub`

	selectErased = `
WITH v (game, sub, hash) AS ({rows}) SELECT v.game, v.sub FROM v JOIN accounts a ON a.game = v.game AND a.sub = v.hash`

	deleteAccounts = `WITH v (game, sub) AS ({rows}) DELETE FROM accounts WHERE (game, sub) IN (SELECT game, sub FROM v)`
)

// admit inserts players in one transaction and sets created of each. It skips players
// whose device, id or skeleton is taken. It first claims the ids of players of an
// operator's login service as accounts. An id that was a guest's account, or was erased,
// can no longer be a player's own id.
//
// All transactions claim ids in the same order and then skeletons in the same order. So
// two transactions deadlock only if they insert the same devices in different orders.
func (l *Ledger) admit(ctx context.Context, all []*registration) error {
	if len(all) == 1 && all[0].DeviceHash != "" {
		return l.insertPlayers(ctx, l.bulk(l.write), all)
	}
	return l.inTx(ctx, func(tx *sql.Tx) error {
		bulk := l.bulk(tx)
		own, err := l.claimIDs(ctx, bulk, all)
		if err != nil {
			return err
		}
		erased, err := l.erased(ctx, bulk, own)
		if err != nil {
			return err
		}
		entitled := make([]*registration, 0, len(all))
		for _, a := range all {
			if a.DeviceHash != "" || own[gameText{a.Game, a.ID}] && !erased[gameText{a.Game, a.ID}] {
				entitled = append(entitled, a)
			}
		}
		if err := l.insertPlayers(ctx, bulk, entitled); err != nil {
			return err
		}
		for _, a := range all {
			if a.created {
				delete(own, gameText{a.Game, a.ID})
			}
		}
		return bulk.run(ctx, deleteAccounts, rowsOf(own), nil)
	})
}

// claimIDs claims the ids of players of an operator's login service, and returns those
// that were new.
func (l *Ledger) claimIDs(ctx context.Context, b bulk, all []*registration) (map[gameText]bool, error) {
	wanted, own := map[gameText]bool{}, map[gameText]bool{}
	for _, a := range all {
		if a.DeviceHash == "" {
			wanted[gameText{a.Game, a.ID}] = true
		}
	}
	err := b.run(ctx, l.sql(insertAccounts), rowsOf(wanted), func(rows *sql.Rows) error {
		var id gameText
		err := rows.Scan(&id.game, &id.text)
		own[id] = true
		return err
	})
	return own, err
}

// erased returns those of the ids that belonged to erased players. It runs after the ids
// were claimed, so it sees concurrent erasures.
func (l *Ledger) erased(ctx context.Context, b bulk, ids map[gameText]bool) (map[gameText]bool, error) {
	rows, erased := rowsOf(ids), map[gameText]bool{}
	for i, row := range rows {
		rows[i] = append(row, l.hashKey.hash(row[0].(string), row[1].(string)))
	}
	err := b.run(ctx, selectErased, rows, func(rows *sql.Rows) error {
		var id gameText
		err := rows.Scan(&id.game, &id.text)
		erased[id] = true
		return err
	})
	return erased, err
}

// rowsOf returns one row for each key, in the order in which all transactions lock them.
func rowsOf(claims map[gameText]bool) [][]any {
	var rows [][]any
	for c := range claims {
		rows = append(rows, []any{c.game, c.text})
	}
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(a[0].(string), b[0].(string)), cmp.Compare(a[1].(string), b[1].(string)))
	})
	return rows
}

// insertPlayers inserts players and sets created of those that were inserted.
func (l *Ledger) insertPlayers(ctx context.Context, b bulk, all []*registration) error {
	type key struct{ game, id, skeleton string }
	keyOf := func(a *registration) key { return key{a.Game, a.ID, a.Skeleton} }
	slices.SortStableFunc(all, func(a, b *registration) int {
		return cmp.Or(cmp.Compare(a.Game, b.Game), cmp.Compare(a.Skeleton, b.Skeleton))
	})
	rows, first := make([][]any, 0, len(all)), make(map[key]*registration, len(all))
	for _, a := range all {
		rows = append(rows, []any{a.Game, a.ID, a.DeviceHash, a.Nickname, a.Skeleton, a.At, l.rules})
		if first[keyOf(a)] == nil {
			first[keyOf(a)] = a
		}
	}
	return b.run(ctx, l.sql(insertPlayers), rows, func(rows *sql.Rows) error {
		var a registration
		err := rows.Scan(&a.Game, &a.ID, &a.Skeleton)
		if registered := first[keyOf(&a)]; registered != nil {
			registered.created = true
		}
		return err
	})
}
