package ledger

import (
	"context"
	"fmt"
	"slices"

	"laststand/internal/match"
)

// playerPair is two players. first is the smaller id in byte order.
type playerPair struct{ first, second string }

func newPlayerPair(a, b string) playerPair { return playerPair{min(a, b), max(a, b)} }

// duelPair returns the players of a duel that counts, and false for other results.
func (item *resultItem) duelPair() (playerPair, bool) {
	players := playerIDs([]*resultItem{item})
	if item.result.Mode != match.Duel || !item.result.CountsForLeaderboards || len(players) != 2 {
		return playerPair{}, false
	}
	return newPlayerPair(players[0], players[1]), true
}

const selectPairDuels = `
WITH v (game, day, player1, player2) AS ({rows})
SELECT p.player1, p.player2, p.duels FROM v JOIN duel_pairs p ON p.game = v.game AND p.day = v.day AND p.player1 = v.player1 AND p.player2 = v.player2`

var savePairDuels = insertRows("duel_pairs", "game, day, player1, player2, duels") +
	`ON CONFLICT (game, day, player1, player2) DO UPDATE SET duels = excluded.duels`

// applyPairLimit counts the duels of each pair on the head's day. It makes duels above the
// game's limit not count. If the game has no limit, it does nothing.
func (s *Results) applyPairLimit(ctx context.Context, tx *transaction, h *head, items []*resultItem) {
	limit := s.pairDuelLimits[h.game]
	if limit == 0 {
		return
	}
	duels := countDuels(ctx, tx, h, items)
	var rows [][]any
	for _, item := range items {
		p, isDuel := item.duelPair()
		switch {
		case !isDuel:
		case duels[p] < limit:
			duels[p]++
		default:
			item.excludeFromCounting()
		}
	}
	for p, n := range duels {
		rows = append(rows, []any{h.game, h.currentDay, p.first, p.second, n})
	}
	tx.bulk(ctx, savePairDuels, rows, nil)
}

// countDuels returns, for each pair of the items, how many duels were counted on the
// head's day before.
func countDuels(ctx context.Context, tx *transaction, h *head, items []*resultItem) map[playerPair]int64 {
	duels := map[playerPair]int64{}
	var rows [][]any
	for _, item := range items {
		p, isDuel := item.duelPair()
		if _, known := duels[p]; isDuel && !known {
			duels[p] = 0
			rows = append(rows, []any{h.game, h.currentDay, p.first, p.second})
		}
	}
	var p playerPair
	var n int64
	tx.bulk(ctx, selectPairDuels, rows, eachRow(func() { duels[p] = n }, &p.first, &p.second, &n))
	return duels
}

// excludeFromCounting makes a result not count for leaderboards, totals and ratings.
func (item *resultItem) excludeFromCounting() {
	r := *item.result
	r.CountsForLeaderboards, r.Standings = false, slices.Clone(r.Standings)
	for i := range r.Standings {
		r.Standings[i].Rating = nil
	}
	item.result = &r
}

// PairDuels returns how many duels of two players have counted today. In a game without
// a limit per pair it returns 0.
func (s *Results) PairDuels(ctx context.Context, game, one, other string) (int64, error) {
	day, today, err := s.entries.currentDay(ctx, game)
	if err != nil {
		return 0, err
	}
	p := newPlayerPair(one, other)
	return getValue[int64](ctx, s.database, `SELECT duels FROM duel_pairs WHERE game = $1 AND day = $2 AND player1 = $3 AND player2 = $4`,
		game, max(day, today), p.first, p.second)
}

// selectRatings selects the ratings of those players of a batch who exist.
const selectRatings = `SELECT p.id, p.rating FROM {ids} players p WHERE p.game = $1 AND p.id {listed}`

// storedRatings returns the ratings of the players of new results, by player id: as JSON,
// or "" for a player without rated matches. Players who do not exist, for example erased
// ones, are missing.
func storedRatings(ctx context.Context, tx *transaction, game string, items []*resultItem) map[string]string {
	players := playerIDs(items)
	stored := make(map[string]string, len(players))
	if len(players) > 0 {
		var id, text string
		tx.each(ctx, eachRow(func() { stored[id] = text }, &id, &text), selectRatings, game, tx.db.idList(players))
	}
	return stored
}

// playerIDs returns the players of results, sorted, each once.
func playerIDs(items []*resultItem) []string {
	var players []string
	for _, item := range items {
		for s := range humanStandings(item.result) {
			players = append(players, s.Player)
		}
	}
	slices.Sort(players)
	return slices.Compact(players)
}

// rateResults computes the ratings of new results, one result after another in commit order. It
// starts with the ratings that the players have now. The caller holds the lock on the
// game's head, so these do not change. The ratings in a result are provisional. They are used
// only for players who do not exist any more.
func rateResults(items []*resultItem, storedRatings map[string]string) error {
	ratings := make(map[string]match.Rating, len(storedRatings))
	for _, item := range items {
		if !item.result.IsRated() {
			continue
		}
		for _, s := range item.result.Standings {
			if _, known := ratings[s.Player]; known {
				continue
			}
			before, err := ratingBefore(s, storedRatings)
			if err != nil {
				return fmt.Errorf("rating of player %s: %w", s.Player, err)
			}
			ratings[s.Player] = before
		}
		r := *item.result
		r.Rate(func(s match.Standing) match.Rating { return ratings[s.Player] })
		for _, s := range r.Standings {
			ratings[s.Player] = s.Rating.After
		}
		item.result, item.outcome.Standings = &r, r.Standings
	}
	return nil
}

// ratingBefore returns the stored rating of a player: the default for a player without
// rated matches, and the provisional one of the standing if the player does not exist.
func ratingBefore(s match.Standing, storedRatings map[string]string) (match.Rating, error) {
	text, exists := storedRatings[s.Player]
	if !exists {
		return s.Rating.Before, nil
	}
	rating := match.DefaultRating()
	err := asJSON(&rating).Scan(text)
	return rating, err
}
