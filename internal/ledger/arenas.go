package ledger

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/match"
)

var _ arena.Records = (*Arenas)(nil)

// Arenas stores the records of arenas.
type Arenas struct{ *database }

const (
	// eraseHost removes what names the host of arenas. Others still read the reports.
	eraseHost = `UPDATE arenas SET host = '', name = '' WHERE game = $1 AND host = $2`

	deleteArenas = `
DELETE FROM arenas WHERE (game, match_id) IN (
    SELECT game, match_id FROM arenas WHERE game = $1 AND created_at < (SELECT {now}) - $2 ORDER BY created_at LIMIT $3 {free})`
)

// AddArena implements arena.Records.
func (a *Arenas) AddArena(ctx context.Context, r arena.Record) error {
	_, err := a.exec(ctx, `
INSERT INTO arenas (game, match_id, host, name, mode, created_at) VALUES ($1, $2, $3, $4, $5, {now}) ON CONFLICT DO NOTHING`,
		r.Game, r.Match, r.Host, r.Name, string(r.Mode))
	return err
}

// Arena implements arena.Records.
func (a *Arenas) Arena(ctx context.Context, game, id string) (arena.Record, error) {
	row := arenaRow{Record: arena.Record{Game: game}}
	found, err := a.get(ctx, row.columns(), `SELECT match_id, host, name, mode, created_at, '' FROM arenas WHERE game = $1 AND match_id = $2`,
		game, id)
	if err == nil && !found {
		err = match.ErrNotFound
	}
	return row.Record, err
}

// ArenasOf implements arena.Records.
func (a *Arenas) ArenasOf(ctx context.Context, game, host, cursor string, limit int) (page []arena.Record, next string, err error) {
	createdAt, id, ok := parseTimeCursor(cursor)
	if !ok {
		return nil, "", match.ErrBadCursor
	}
	rows, err := list(ctx, a.database, (*arenaRow).columns, `
SELECT a.match_id, a.host, a.name, a.mode, a.created_at, COALESCE(m.summary, '')
FROM arenas a LEFT JOIN matches m ON m.game = a.game AND m.id = a.match_id
WHERE a.game = $1 AND a.host = $2 AND (a.created_at, a.match_id) < ($3, $4)
ORDER BY a.created_at DESC, a.match_id DESC LIMIT $5`, game, host, createdAt, id, limit+1)
	rows, next = cutPage(rows, limit, func(last *arenaRow) string { return newCursor(last.CreatedAt, last.Match) })
	for _, row := range rows {
		row.Game = game
		if row.summary != nil {
			row.IsSettled, row.Players = true, row.summary.Players
		}
		page = append(page, row.Record)
	}
	return page, next, err
}

// arenaRow is a row of table arenas with the summary of its match, nil if there is none.
type arenaRow struct {
	arena.Record

	summary *match.Summary
}

func (r *arenaRow) columns() []any {
	return into(&r.Match, &r.Host, &r.Name, &r.Mode, &r.CreatedAt, asJSON(&r.summary))
}
