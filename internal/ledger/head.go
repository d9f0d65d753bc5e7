package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"laststand/internal/leaderboard"
)

// Turn writes the turns of the days that have passed for a game, the first day
// for one that has none yet, and reports whether there were any. Commit does so
// too, before its entries: Turn is for quiet games, and cheap when called in
// vain.
func (l *Ledger) Turn(ctx context.Context, game string) (bool, error) {
	today, err := l.isToday(ctx, game)
	if err != nil || today {
		return false, err
	}
	turned := false
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		h, err := l.lockHead(ctx, tx, game, nil)
		if err != nil {
			return err
		}
		turned = len(h.entries) > 0
		return l.bulk(tx).run(ctx, insertEntry, h.rows(game), nil)
	})
	if err != nil {
		return false, fmt.Errorf("ledger: turn the day of %s: %w", game, err)
	}
	return turned, nil
}

const selectToday = `SELECT COALESCE((SELECT day FROM heads WHERE game = $1), ''), {now}`

// isToday reports whether the game's day is the one that the database's clock
// tells, or later.
func (l *Ledger) isToday(ctx context.Context, game string) (bool, error) {
	var day string
	var now int64
	if err := l.read.QueryRowContext(ctx, l.sql(selectToday), game).Scan(&day, &now); err != nil {
		return false, fmt.Errorf("ledger: day of %s: %w", game, err)
	}
	return day >= civilDay(now, l.zone(game)), nil
}

const selectHead = `
SELECT h.pos, h.day, e.id FROM heads h JOIN entries e ON e.game = h.game AND e.pos = h.pos WHERE h.game = $1`

// Head says how far a game's ledger goes: the watermark of a view that has
// applied all of it. Pos is 0 for a game without entries.
func (l *Ledger) Head(ctx context.Context, game string) (leaderboard.Watermark, error) {
	head := leaderboard.Watermark{Epoch: l.epoch}
	err := l.read.QueryRowContext(ctx, selectHead, game).Scan(&head.Pos, &head.Day, &head.RowID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return leaderboard.Watermark{}, fmt.Errorf("ledger: head of %s: %w", game, err)
	}
	return head, nil
}

// FirstDay is the day of a game's first entry, or ErrNotFound.
func (l *Ledger) FirstDay(ctx context.Context, game string) (string, error) {
	var day string
	err := l.read.QueryRowContext(ctx, "SELECT first_day FROM heads WHERE game = $1", game).Scan(&day)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("ledger: first day of %s: %w", game, err)
	}
	return day, nil
}

// head is a game's head, locked until the transaction ends, with the entries
// to be written after it.
type head struct {
	pos     int64
	day     string
	at      int64
	entries []*entry // turns first
}

const (
	insertHead = `INSERT INTO heads (game, pos, day, first_day) VALUES ($1, 0, '', '') ON CONFLICT DO NOTHING`
	raiseHead  = `UPDATE heads SET pos = pos + $2 WHERE game = $1 RETURNING pos, day, {now}`
	turnHead   = `
UPDATE heads SET pos = pos + $2, day = $3, first_day = CASE WHEN first_day = '' THEN $3 ELSE first_day END
WHERE game = $1`
)

// lockHead locks the game's head, then reads the clock, and gives the turns of
// the days passed and the entries after them their positions, day and instant.
// The caller writes the head's rows.
func (l *Ledger) lockHead(ctx context.Context, tx *sql.Tx, game string, entries []*entry) (*head, error) {
	h, err := l.raise(ctx, tx, game, len(entries))
	if err != nil {
		return nil, err
	}
	days, err := daysAfter(h.day, civilDay(h.at, l.zone(game)))
	if err != nil {
		return nil, err
	}
	pos := h.pos - int64(len(entries))
	for _, day := range days {
		h.entries = append(h.entries, &entry{Row: leaderboard.Row{Kind: leaderboard.TurnRow, Day: day}})
		h.day = day
	}
	if len(days) > 0 {
		if _, err := tx.ExecContext(ctx, turnHead, game, len(days), h.day); err != nil {
			return nil, err
		}
	}
	h.entries = append(h.entries, entries...)
	for i, e := range h.entries {
		e.Pos, e.ID, e.At = pos+int64(i)+1, rand.Text(), h.at
		if e.Kind != leaderboard.TurnRow {
			e.Day = h.day
		}
	}
	return h, nil
}

// raise moves the head by n positions, which locks it. The clock is read after
// the lock was had: entries of later positions are not committed earlier.
func (l *Ledger) raise(ctx context.Context, tx *sql.Tx, game string, n int) (*head, error) {
	var h head
	raise := func() error {
		return tx.QueryRowContext(ctx, l.sql(raiseHead), game, n).Scan(&h.pos, &h.day, &h.at)
	}
	err := raise()
	if !errors.Is(err, sql.ErrNoRows) {
		return &h, err
	}
	if _, err := tx.ExecContext(ctx, insertHead, game); err != nil {
		return nil, err
	}
	return &h, raise()
}

// rows are the rows of insertEntry.
func (h *head) rows(game string) [][]any {
	var rows [][]any
	for _, e := range h.entries {
		p := e.Parts
		rows = append(rows, []any{game, e.Pos, e.ID, string(e.Kind), e.Day, e.At, e.match, e.Player,
			p.Score, p.TimeMS, p.LimitMS, p.Matches, p.Asked, p.Answered, p.Correct})
	}
	return rows
}
