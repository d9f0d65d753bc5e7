package ledger

import (
	"context"
	"database/sql"
	"slices"

	"laststand/internal/match"
)

// playerPair is two players. first is the smaller id in byte order.
type playerPair struct{ first, second string }

func newPlayerPair(a, b string) playerPair { return playerPair{min(a, b), max(a, b)} }

// duelPair returns the players of a duel that counts, and false for other results.
func (item *resultItem) duelPair() (playerPair, bool) {
	if item.result.Mode != match.Duel || len(item.entries) != 2 {
		return playerPair{}, false
	}
	return newPlayerPair(item.entries[0].Holder, item.entries[1].Holder), true
}

const (
	selectPairDuels = `
WITH v (game, day, player1, player2) AS ({rows})
SELECT p.player1, p.player2, p.duels FROM v JOIN duel_pairs p ON p.game = v.game AND p.day = v.day AND p.player1 = v.player1 AND p.player2 = v.player2`

	savePairDuels = `
WITH v (game, day, player1, player2, duels) AS ({rows})
INSERT INTO duel_pairs (game, day, player1, player2, duels) SELECT game, day, player1, player2, duels FROM v WHERE true
ON CONFLICT (game, day, player1, player2) DO UPDATE SET duels = excluded.duels`

	updateMatch = `
WITH v (game, id, summary) AS ({rows})
UPDATE matches SET summary = v.summary FROM v WHERE matches.game = v.game AND matches.id = v.id`
)

// applyPairLimit counts the duels of each pair on the head's day. It makes duels above the
// game's limit not count. If the game has no limit, it does nothing.
func (s *Results) applyPairLimit(ctx context.Context, tx *transaction, h *head, items []*resultItem) error {
	limit := s.pairDuelLimits[h.game]
	if limit == 0 {
		return nil
	}
	duels, err := s.countDuels(ctx, tx, h, items)
	if err != nil {
		return err
	}
	var excludedRows [][]any
	for _, item := range items {
		p, isDuel := item.duelPair()
		switch {
		case !isDuel:
		case duels[p] < limit:
			duels[p]++
		default:
			if err := item.excludeFromCounting(); err != nil {
				return err
			}
			excludedRows = append(excludedRows, []any{h.game, item.result.Match, item.recordJSON})
		}
	}
	var rows [][]any
	for p, n := range duels {
		rows = append(rows, []any{h.game, h.currentDay, p.first, p.second, n})
	}
	return tx.bulkSteps(ctx, bulkStep{"pairs", savePairDuels, rows}, bulkStep{"matches", updateMatch, excludedRows})
}

// countDuels returns, for each pair of the items, how many duels were counted on the
// head's day before.
func (s *Results) countDuels(ctx context.Context, tx *transaction, h *head, items []*resultItem) (map[playerPair]int64, error) {
	duels := map[playerPair]int64{}
	var rows [][]any
	for _, item := range items {
		p, isDuel := item.duelPair()
		if _, known := duels[p]; isDuel && !known {
			duels[p] = 0
			rows = append(rows, []any{h.game, h.currentDay, p.first, p.second})
		}
	}
	err := tx.bulk(ctx, selectPairDuels, rows, func(r *sql.Rows) error {
		var p playerPair
		var n int64
		err := r.Scan(&p.first, &p.second, &n)
		duels[p] = n
		return err
	})
	return duels, err
}

// excludeFromCounting makes a result not count for leaderboards, totals and ratings.
func (item *resultItem) excludeFromCounting() error {
	r := *item.result
	r.CountsForLeaderboards, r.Standings = false, slices.Clone(r.Standings)
	for i := range r.Standings {
		r.Standings[i].Rating = nil
	}
	item.entries = nil
	return item.setResult(&r)
}

const selectDuels = `SELECT duels FROM duel_pairs WHERE game = $1 AND day = $2 AND player1 = $3 AND player2 = $4`

// PairDuels returns how many duels of two players have counted today. In a game without
// a limit per pair it returns 0.
func (s *Results) PairDuels(ctx context.Context, game, one, other string) (duels int64, err error) {
	defer describe(&err, "duels of %s and %s", one, other)
	day, today, err := s.entries.currentDay(ctx, game)
	if err != nil {
		return 0, err
	}
	p := newPlayerPair(one, other)
	_, err = scanOptional(s.queryRow(ctx, selectDuels, game, max(day, today), p.first, p.second), &duels)
	return duels, err
}

const deletePairs = `
DELETE FROM duel_pairs WHERE (game, day, player1, player2) IN (
    SELECT game, day, player1, player2 FROM duel_pairs WHERE game = $1 AND day = $2 LIMIT $3)`

// deletePairsOfDay deletes the pairs of a past day, in pages.
func (s *Days) deletePairsOfDay(ctx context.Context, game, day string) error {
	for {
		if n, err := s.exec(ctx, deletePairs, game, day, s.sumPageSize); err != nil || n == 0 {
			return err
		}
	}
}
