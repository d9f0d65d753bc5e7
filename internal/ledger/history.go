package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

// History reads settled matches.
type History struct {
	*database
	names *Names
}

// Match returns the stored summary of a settled match with current nicknames, or
// match.ErrNotFound.
func (h *History) Match(ctx context.Context, game, id string) (match.Summary, error) {
	m, err := h.readSummary(ctx, game, id)
	if err == nil {
		err = h.setFirstNicknames(ctx, game, m.Firsts)
	}
	return m, err
}

// readSummary does the same as Match, but without nicknames.
func (h *History) readSummary(ctx context.Context, game, id string) (m match.Summary, err error) {
	found, err := h.get(ctx, into(asJSON(&m)), `SELECT summary FROM matches WHERE game = $1 AND id = $2`, game, id)
	if err == nil && !found {
		err = match.ErrNotFound
	}
	m.Match, m.Game = id, game
	return m, err
}

// setFirstNicknames sets the current nicknames of players. It sets "" for an erased player.
func (h *History) setFirstNicknames(ctx context.Context, game string, firsts []match.First) error {
	ids := make([]string, len(firsts))
	for i := range firsts {
		ids[i] = firsts[i].Player
	}
	names, err := h.names.Nicknames(ctx, game, ids) // a match has fewer questions than MaxNames
	for i := range firsts {
		firsts[i].Nickname = names[firsts[i].Player]
	}
	return err
}

const (
	selectStandingsWhere = `
SELECT s.standing_index, s.rank, s.player, COALESCE(p.nickname, ''), s.team, s.score, s.correct, s.answered, s.asked, s.time_ms, s.rating, s.rating_delta
FROM seats s LEFT JOIN players p ON p.game = s.game AND p.id = s.player
WHERE s.game = $1 AND s.match_id = $2 AND `

	selectStandings = selectStandingsWhere + `s.standing_index >= $3 AND s.standing_index < $4 ORDER BY s.standing_index`

	// selectByRank sorts all standings of a match, because the order has changed.
	selectByRank = selectStandingsWhere + `s.standing_index >= 0
ORDER BY s.rank, s.standing_index LIMIT CAST($4 AS BIGINT) - CAST($3 AS BIGINT) OFFSET CAST($3 AS BIGINT)`
)

var insertSeat = insertRows("seats", "game, player, over_at, match_id, mode, rank, score, correct, player_count, standing_index, team, answered, asked, time_ms, rating, rating_delta, has_left")

// seatRows returns the rows of insertSeat.
func seatRows(game string, items []*resultItem) [][]any {
	var rows [][]any
	for _, item := range items {
		for i := range item.result.Standings {
			if !item.result.Standings[i].Bot {
				rows = append(rows, seatRow(game, item.result, i))
			}
		}
	}
	return rows
}

// seatRow returns the row of the standing with index i, without nickname.
func seatRow(game string, r *match.Result, i int) []any {
	s, rating, delta, left := &r.Standings[i], 0, 0, int64(0)
	if s.Rating != nil {
		rating = s.Rating.After.Rounded()
		delta = rating - s.Rating.Before.Rounded()
	}
	if s.HasLeft {
		left = 1
	}
	return []any{
		game, s.Player, r.OverAt, r.Match, string(r.Mode), int64(s.Rank), s.Score, int64(s.Correct), int64(len(r.Standings)),
		int64(i), s.Team, int64(s.Answered), int64(s.Asked), s.TimeMS, int64(rating), int64(delta), left,
	}
}

// Standings returns the standings of a settled match, best first, with current nicknames.
// It returns those whose place, from 0, is at least from and less than to. An erased player has
// no nickname. m is the match's summary as Match returns it.
func (h *History) Standings(ctx context.Context, m match.Summary, from, to int) ([]protocol.OverStanding, error) {
	page, err := h.standings(ctx, m, from, to)
	standings := make([]protocol.OverStanding, len(page))
	for i := range page {
		standings[i] = page[i].OverStanding
	}
	return standings, err
}

// standings returns what Standings does, with indexes. A place is an index, unless a void
// question has changed the order. The table has no bots; these play only duels.
func (h *History) standings(ctx context.Context, m match.Summary, from, to int) ([]match.IndexedStanding, error) {
	statement := selectStandings
	if len(m.Voided) > 0 {
		statement = selectByRank
	}
	if len(m.Bots) == 0 {
		return h.readStandings(ctx, m, statement, from, to)
	}
	all, err := h.readStandings(ctx, m, selectStandings, 0, m.Players)
	all = append(all, m.Bots...)
	slices.SortFunc(all, func(a, b match.IndexedStanding) int {
		if len(m.Voided) == 0 {
			return cmp.Compare(a.Index, b.Index)
		}
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Index, b.Index))
	})
	return all[min(from, len(all)):min(to, len(all))], err
}

// readStandings returns the rows of selectStandings or selectByRank. A row without ratings has 0
// for both.
func (h *History) readStandings(ctx context.Context, m match.Summary, statement string, from, to int) ([]match.IndexedStanding, error) {
	page := make([]match.IndexedStanding, 0, to-from)
	err := h.each(ctx, func(rows *sql.Rows) error {
		var s match.IndexedStanding
		var rating, delta int
		err := rows.Scan(&s.Index, &s.Rank, &s.Player, &s.Nickname, &s.Team, &s.Score, &s.Correct, &s.Answered, &s.Asked, &s.TimeMS, &rating, &delta)
		if rating != 0 || delta != 0 {
			s.Rating, s.RatingDelta = &rating, &delta
		}
		page = append(page, s)
		return err
	}, statement, m.Game, m.Match, from, to)
	return page, err
}

// Matches returns up to limit (at least 1) of a player's settled matches, newest first,
// and the cursor of the next page, "" after the last. A cursor names the last match of a
// page. So matches that are settled between two calls neither repeat nor hide one. The
// error is match.ErrBadCursor for a cursor that Matches has not returned.
func (h *History) Matches(ctx context.Context, game, player, cursor string, limit int) (page []match.HistoryEntry, next string, err error) {
	overAt, id, ok := parseTimeCursor(cursor)
	if !ok {
		return nil, "", match.ErrBadCursor
	}
	page, err = list(ctx, h.database, func(p *match.HistoryEntry) []any {
		return into(&p.Match, &p.Mode, &p.OverAt, &p.Rank, &p.Score, &p.Correct, &p.Players)
	}, `
SELECT match_id, mode, over_at, rank, score, correct, player_count FROM seats
WHERE game = $1 AND player = $2 AND (over_at, match_id) < ($3, $4)
ORDER BY over_at DESC, match_id DESC LIMIT $5`, game, player, overAt, id, limit+1)
	page, next = cutPage(page, limit, func(last *match.HistoryEntry) string { return newCursor(last.OverAt, last.Match) })
	return page, next, err
}
