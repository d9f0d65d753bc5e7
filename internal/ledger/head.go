package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
)

// StartNewDays adds an entry for each day that has started since the last entry, and the tasks
// that report the ended days. It reports whether it added any. Commit does the same
// before it adds its entries, so StartNewDays is for games without new results. If there
// is nothing to do, it only reads.
func (s *Days) StartNewDays(ctx context.Context, game string) (_ bool, err error) {
	defer describe(&err, "start the new days of %s", game)
	day, today, err := s.entries.currentDay(ctx, game)
	if err != nil {
		return false, err
	}
	if day >= today {
		s.entries.recordDayBlock(&head{game: game, currentDay: day}, today, "")
		return false, nil
	}
	hasNewDays := false
	err = s.entries.inTxWithTasks(ctx, func(tx *transaction) ([]taskqueue.NewTask, error) {
		h, err := s.entries.lockHead(ctx, tx, game)
		if err != nil {
			return nil, err
		}
		hasNewDays = len(h.entries) > 0
		return s.entries.eventTasks(h), s.entries.saveHead(ctx, tx, h)
	})
	return hasNewDays, err
}

const selectToday = `SELECT COALESCE((SELECT day FROM ledger_heads WHERE game = $1), ''), {now}`

// currentDay returns the game's current day, "" before its first day. It also returns today's
// date by the database's clock, which is earlier if the clock was set back.
func (w *entryWriter) currentDay(ctx context.Context, game string) (currentDay, today string, err error) {
	defer describe(&err, "day of %s", game)
	var now int64
	err = w.queryRow(ctx, selectToday, game).Scan(&currentDay, &now)
	return currentDay, civilDay(now, w.timeZone(game)), err
}

// head is a game's row of table heads, locked until the transaction ends, with the
// entries to add.
type head struct {
	game       string
	pos        int64    // position of the last entry
	currentDay string   // the current day, YYYY-MM-DD; "" before the first day
	now        int64    // time of the lock, epoch ms
	entries    []*entry // starts of days come first
	endedDays  []string // days that end with these entries
}

const (
	insertHead        = `INSERT INTO ledger_heads (game, pos, day, first_day) VALUES ($1, 0, '', '') ON CONFLICT DO NOTHING`
	lockHeadStatement = `UPDATE ledger_heads SET pos = pos WHERE game = $1 RETURNING pos, day, {now}`
	updateHead        = `UPDATE ledger_heads SET pos = $2, day = $3, first_day = CASE WHEN first_day = '' THEN $4 ELSE first_day END WHERE game = $1`
	insertDay         = `
WITH v (game, day, start_pos) AS ({rows})
INSERT INTO days (game, day, start_pos) SELECT game, day, start_pos FROM v WHERE true`
)

// lockHead locks the game's head, reads the clock, and adds an entry for each day that
// has started. The caller adds its own entries and saves the head.
func (w *entryWriter) lockHead(ctx context.Context, tx *transaction, game string) (*head, error) {
	h, err := w.lockHeadRow(ctx, tx, game)
	if err != nil {
		return nil, err
	}
	today := civilDay(h.now, w.timeZone(game))
	days, err := daysAfter(h.currentDay, today)
	if err != nil && w.dayClocks.processTime != nil {
		w.recordDayBlock(h, today, reasonLeap)
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	if days, err = w.allowedDays(ctx, tx, h, days); err != nil {
		return nil, err
	}
	for _, day := range days {
		if h.currentDay != "" {
			h.endedDays = append(h.endedDays, h.currentDay)
		}
		h.currentDay = day
		h.add(&entry{Row: leaderboard.Row{Kind: leaderboard.DayStartRow}})
	}
	return h, nil
}

// lockHeadRow locks the head. It reads the clock after it has the lock, so that a later
// position never has an earlier time.
func (w *entryWriter) lockHeadRow(ctx context.Context, tx *transaction, game string) (*head, error) {
	h := head{game: game}
	lockRow := func() error {
		return tx.queryRow(ctx, lockHeadStatement, game).Scan(&h.pos, &h.currentDay, &h.now)
	}
	err := lockRow()
	if !errors.Is(err, sql.ErrNoRows) {
		return &h, err
	}
	if _, err := tx.exec(ctx, insertHead, game); err != nil {
		return nil, err
	}
	return &h, lockRow()
}

// add sets the positions, ids, day and time of entries, and appends them to h.entries.
func (h *head) add(entries ...*entry) {
	for _, e := range entries {
		h.pos++
		e.Pos, e.ID, e.Day, e.CommittedAt = h.pos, rand.Text(), h.currentDay, h.now
	}
	h.entries = append(h.entries, entries...)
}

func (w *entryWriter) saveHead(ctx context.Context, tx *transaction, h *head) error {
	if len(h.entries) == 0 {
		return nil
	}
	var rows, days [][]any
	for _, e := range h.entries {
		rows = append(rows, e.insertRow(h.game))
		if e.Kind == leaderboard.DayStartRow {
			days = append(days, []any{h.game, e.Day, e.Pos})
		}
	}
	if err := tx.bulkSteps(ctx, bulkStep{"entries", insertEntry, rows}, bulkStep{"days", insertDay, days}); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, updateHead, h.game, h.pos, h.currentDay, h.entries[0].Day); err != nil {
		return fmt.Errorf("head: %w", err)
	}
	return nil
}

func (w *entryWriter) timeZone(game string) *time.Location {
	if zone := w.timeZones[game]; zone != nil {
		return zone
	}
	return time.UTC
}

// maxStartedDays limits the days that one transaction may start: a hundred years.
const maxStartedDays = 36525

// civilDay returns the date of an instant (epoch ms) in a zone, YYYY-MM-DD.
func civilDay(at int64, zone *time.Location) string {
	return time.UnixMilli(at).In(zone).Format(time.DateOnly)
}

// daysAfter returns the dates after day up to and including today, in order. It returns
// none if today is not after day, and only today if day is "" (no day yet).
func daysAfter(day, today string) ([]string, error) {
	if day == "" {
		return []string{today}, nil
	}
	from, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return nil, fmt.Errorf("the game's day: %w", err)
	}
	to, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return nil, fmt.Errorf("the database's clock: %w", err)
	}
	if n := to.Sub(from) / (24 * time.Hour); n > maxStartedDays {
		return nil, fmt.Errorf("the database's clock shows %s, but the game's last day is %s; correct the clock", today, day)
	}
	var days []string
	for d := from.AddDate(0, 0, 1); !d.After(to); d = d.AddDate(0, 0, 1) {
		days = append(days, d.Format(time.DateOnly))
	}
	return days, nil
}
