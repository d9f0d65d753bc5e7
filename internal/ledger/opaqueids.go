package ledger

import (
	"context"
	"database/sql"
	"slices"

	"laststand/internal/match"
)

const selectOpaque = `
WITH v (game, id, hash) AS ({rows})
SELECT v.id, a.opaque_id FROM v JOIN accounts a ON a.game = v.game AND a.subject = v.hash WHERE a.opaque_id <> ''`

// opaqueIDs returns the opaque ids of those players who were erased, by their former ids.
// An erased guest has no opaque id. The form of an id does not matter, because an
// operator's login service may create subjects that look like guests' ids. A caller that
// writes results holds the lock on the game's head.
func (db *database) opaqueIDs(ctx context.Context, tx *transaction, game string, players []string) (map[string]string, error) {
	var rows [][]any
	for _, id := range players {
		rows = append(rows, []any{game, id, db.hashKey.hashSubject(game, id)})
	}
	opaqueByID := map[string]string{}
	err := tx.bulk(ctx, selectOpaque, rows, func(r *sql.Rows) error {
		var id, opaqueID string
		err := r.Scan(&id, &opaqueID)
		opaqueByID[id] = opaqueID
		return err
	})
	return opaqueByID, err
}

// renameErased replaces erased players in new results by their opaque ids. It checks only
// players who do not exist, which means that they are not in stored.
func (s *Results) renameErased(ctx context.Context, tx *transaction, game string, items []*resultItem, stored map[string]string) error {
	missing := slices.DeleteFunc(playerIDs(items), func(id string) bool {
		_, exists := stored[id]
		return exists
	})
	opaqueByID, err := s.opaqueIDs(ctx, tx, game, missing)
	if err != nil || len(opaqueByID) == 0 {
		return err
	}
	var records [][]any
	for _, item := range items {
		r, changed := withOpaqueIDs(item.result, opaqueByID)
		if !changed {
			continue
		}
		if err := item.setResult(r); err != nil {
			return err
		}
		if r.CountsForLeaderboards {
			item.entries = append(playerEntries(r), teamEntries(r)...)
		}
		records = append(records, []any{game, r.Match, item.recordJSON})
	}
	return tx.bulk(ctx, updateMatch, records, nil)
}

// withOpaqueIDs returns a copy of a result in which opaque ids replace former ids. changed
// is false if the result has none of these players.
func withOpaqueIDs(r *match.Result, opaqueByID map[string]string) (renamed *match.Result, changed bool) {
	copied := *r
	copied.Standings, copied.Firsts = slices.Clone(r.Standings), slices.Clone(r.Firsts)
	for i := range copied.Standings {
		if id := opaqueByID[copied.Standings[i].Player]; id != "" && !copied.Standings[i].Bot {
			copied.Standings[i].Player, copied.Standings[i].Nickname, changed = id, "", true
		}
	}
	for i := range copied.Firsts {
		if id := opaqueByID[copied.Firsts[i].Player]; id != "" {
			copied.Firsts[i].Player, copied.Firsts[i].Nickname, changed = id, "", true
		}
	}
	if id := opaqueByID[copied.Winner]; id != "" {
		copied.Winner = id
	}
	return &copied, changed
}
