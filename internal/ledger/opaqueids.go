package ledger

import (
	"context"
	"database/sql"
	"slices"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

const selectOpaque = `
WITH v (game, id, hash) AS ({rows})
SELECT v.id, a.opaque FROM v JOIN accounts a ON a.game = v.game AND a.sub = v.hash WHERE a.opaque <> ''`

// opaqueOf returns the opaque ids of those players who were erased, by their former ids.
// An erased guest has no opaque id. The form of an id does not matter, because an
// operator's login service may create subjects that look like guests' ids. The caller
// holds the lock on the game's head.
func (l *Ledger) opaqueOf(ctx context.Context, tx *sql.Tx, game string, players []string) (map[string]string, error) {
	var rows [][]any
	for _, id := range players {
		rows = append(rows, []any{game, id, l.hashKey.hash(game, id)})
	}
	opaque := map[string]string{}
	err := l.bulk(tx).run(ctx, selectOpaque, rows, func(r *sql.Rows) error {
		var id, as string
		err := r.Scan(&id, &as)
		opaque[id] = as
		return err
	})
	return opaque, err
}

// renameErased replaces erased players in new results by their opaque ids. It checks only
// players who do not exist, which means that they are not in stored.
func (l *Ledger) renameErased(ctx context.Context, tx *sql.Tx, game string, items []*batchItem, stored map[string]string) error {
	missing := slices.DeleteFunc(playersOf(items), func(id string) bool {
		_, exists := stored[id]
		return exists
	})
	opaque, err := l.opaqueOf(ctx, tx, game, missing)
	if err != nil || len(opaque) == 0 {
		return err
	}
	var records [][]any
	for _, it := range items {
		r, changed := withOpaque(it.result, opaque)
		if !changed {
			continue
		}
		if err := it.setResult(r); err != nil {
			return err
		}
		if r.Counts {
			it.entries = append(playerEntries(r), teamEntries(r)...)
		}
		records = append(records, []any{game, r.Match, it.text})
	}
	return l.bulk(tx).run(ctx, updateMatch, records, nil)
}

// withOpaque returns a copy of a result in which opaque ids replace former ids. changed
// is false if the result has none of these players.
func withOpaque(r *match.Result, opaque map[string]string) (renamed *match.Result, changed bool) {
	c := *r
	c.Standings, c.Firsts = slices.Clone(r.Standings), slices.Clone(r.Firsts)
	for i := range c.Standings {
		if id := opaque[c.Standings[i].Player]; id != "" && !c.Standings[i].Bot {
			c.Standings[i].Player, c.Standings[i].Nickname, changed = id, "", true
		}
	}
	for i := range c.Firsts {
		if id := opaque[c.Firsts[i].Player]; id != "" {
			c.Firsts[i].Player, c.Firsts[i].Nickname, changed = id, "", true
		}
	}
	if id := opaque[c.Winner]; id != "" {
		c.Winner = id
	}
	return &c, changed
}

const selectErasing = `
WITH v (game, id) AS ({rows})
SELECT v.id FROM v JOIN erasures e ON e.game = v.game AND e.ended_at = 0 AND (e.subject = v.id OR e.opaque = v.id)`

// refuseErasing returns ErrErasing if a holder of an entry or one of the players is being
// erased. Then some of the player's rows may be renamed already, and leaderboards still
// have the old id. The caller holds the lock on the game's head, so no erasure can end at
// the same time.
func (l *Ledger) refuseErasing(ctx context.Context, tx *sql.Tx, game string, given []*entry, players ...string) error {
	for _, e := range given {
		if e.HolderKind == leaderboard.Players {
			players = append(players, e.Holder)
		}
	}
	slices.Sort(players)
	var rows [][]any
	for _, id := range slices.Compact(players) {
		if id != "" {
			rows = append(rows, []any{game, id})
		}
	}
	erasing := false
	err := l.bulk(tx).run(ctx, selectErasing, rows, func(r *sql.Rows) error {
		erasing = true
		var id string
		return r.Scan(&id)
	})
	if err == nil && erasing {
		err = ErrErasing
	}
	return err
}
