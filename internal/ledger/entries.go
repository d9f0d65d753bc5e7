package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"laststand/internal/leaderboard"
)

// entry is one row of a game's ledger and the match that it follows from, ""
// for a turn.
type entry struct {
	leaderboard.Row
	match string
}

const selectEntries = `
SELECT pos, id, kind, day, at, player, score, time_ms, limit_ms, matches, asked, answered, correct
FROM entries WHERE game = $1 AND pos > $2 ORDER BY pos LIMIT $3`

// Rows gives up to limit rows of a game's ledger after a position, in order
// and without gaps.
func (l *Ledger) Rows(ctx context.Context, game string, after int64, limit int) ([]leaderboard.Row, error) {
	var all []leaderboard.Row
	err := scanAll(func(rows *sql.Rows) error {
		var r leaderboard.Row
		p := &r.Parts
		err := rows.Scan(&r.Pos, &r.ID, &r.Kind, &r.Day, &r.At, &r.Player,
			&p.Score, &p.TimeMS, &p.LimitMS, &p.Matches, &p.Asked, &p.Answered, &p.Correct)
		all = append(all, r)
		return err
	})(l.read.QueryContext(ctx, selectEntries, game, after, limit))
	if err != nil {
		return nil, fmt.Errorf("ledger: rows of %s: %w", game, err)
	}
	return all, nil
}

const selectRowID = `SELECT id FROM entries WHERE game = $1 AND pos = $2`

// RowID is the id of the row at a position, or ErrNotFound: a view whose
// watermark names another id there applied a ledger that was rolled back.
func (l *Ledger) RowID(ctx context.Context, game string, pos int64) (string, error) {
	var id string
	err := l.read.QueryRowContext(ctx, selectRowID, game, pos).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("ledger: row %d of %s: %w", pos, game, err)
	}
	return id, nil
}
