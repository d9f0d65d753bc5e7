package ledger

import (
	"context"
	"fmt"

	"laststand/internal/match"
)

const selectPlayed = `
SELECT match_id, mode, over_at, rank, score, correct, player_count FROM seats
WHERE game = $1 AND player = $2 AND (over_at, match_id) < ($3, $4)
ORDER BY over_at DESC, match_id DESC LIMIT $5`

// Matches returns up to limit (at least 1) of a player's settled matches, newest first,
// and the cursor of the next page, "" after the last. A cursor names the last match of a
// page. So matches that are settled between two calls neither repeat nor hide one. The
// error is match.ErrBadCursor for a cursor that Matches has not returned.
func (h *History) Matches(ctx context.Context, game, player, cursor string, limit int) (page []match.HistoryEntry, next string, err error) {
	overAt, id, ok := parseCursor(cursor)
	if !ok {
		return nil, "", match.ErrBadCursor
	}
	page, err = collect(func(p *match.HistoryEntry) []any {
		return []any{&p.Match, &p.Mode, &p.OverAt, &p.Rank, &p.Score, &p.Correct, &p.Players}
	})(h.readPool.QueryContext(ctx, selectPlayed, game, player, overAt, id, limit+1))
	if err != nil {
		return nil, "", fmt.Errorf("ledger: matches of %s: %w", player, err)
	}
	page, next = cutPage(page, limit, func(last *match.HistoryEntry) string { return newCursor(last.OverAt, last.Match) })
	return page, next, nil
}
