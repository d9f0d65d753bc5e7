package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"

	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
)

const (
	// selectDaysOf are the days that a player may have something from: those that
	// are summed, and all that are not yet.
	selectDaysOf = `
SELECT day FROM sums WHERE game = $1 AND whose = 'player' AND holder = $2
UNION SELECT day FROM days WHERE game = $1 AND summed = 0 ORDER BY 1`

	// changeVersions locks the days: see moveSummed.
	changeVersions = `UPDATE days SET version = $3 WHERE game = $1 AND day >= $2`

	deleteSums = `DELETE FROM sums WHERE game = $1 AND whose = 'player' AND holder = $2`

	endErasure = `UPDATE erasures SET first_pos = $3, last_pos = $4, ended_at = {now} WHERE game = $1 AND subject = $2`

	selectMoves = `SELECT opaque, subject FROM erasures WHERE game = $1 AND last_pos >= $2`
)

// mergeSums meets the sums of results that were settled after the erasure.
var mergeSums = strings.ReplaceAll(`
INSERT INTO sums (game, `+sumColumns+`)
SELECT o.game, o.whose, $3, o.day, o.newest, o.at, {old} FROM sums o WHERE o.game = $1 AND o.whose = 'player' AND o.holder = $2
ON CONFLICT (game, whose, holder, day) DO UPDATE SET
    newest = CASE WHEN excluded.newest > sums.newest THEN excluded.newest ELSE sums.newest END,
    at = CASE WHEN excluded.newest > sums.newest THEN excluded.at ELSE sums.at END,
    `+eachAggregate("@ = sums.@ + excluded.@"), "{old}", eachAggregate("o.@"))

// endErasure renames the rest under the lock on the game's head. No running commit can
// still write the subject then. It also adds the entries that move the subject's entries
// on the boards.
func (l *Ledger) endErasure(ctx context.Context, e erasure) (hasMoves bool, err error) {
	err = l.inTxWithTasks(ctx, func(tx *sql.Tx) ([]taskqueue.NewTask, error) {
		h, err := l.lockHead(ctx, tx, e.game)
		if err != nil {
			return nil, fmt.Errorf("head: %w", err)
		}
		err = e.scan(tx.QueryRowContext(ctx, l.sql(lockErasure), e.game, e.subject))
		if err != nil { // errNoErasure: another node has ended it
			return nil, err
		}
		for more := true; more; {
			if more, err = l.renamePage(ctx, tx, e); err != nil {
				return nil, err
			}
		}
		if err := l.saveMoves(ctx, tx, h, e); err != nil {
			return nil, err
		}
		hasMoves = true
		return l.eventTasks(h), nil
	})
	return hasMoves && err == nil, err
}

// saveMoves renames sums, and adds the entries that move the boards: one for the boards
// of several days, and one for every ten days.
func (l *Ledger) saveMoves(ctx context.Context, tx *sql.Tx, h *head, e erasure) error {
	turned := len(h.entries)
	var days []string
	err := scanAll(func(rows *sql.Rows) error {
		var day string
		err := rows.Scan(&day)
		days = append(days, day)
		return err
	})(tx.QueryContext(ctx, selectDaysOf, e.game, e.subject))
	if err != nil {
		return fmt.Errorf("days: %w", err)
	}
	if len(days) == 0 {
		days = []string{h.day}
	}
	h.add(moveOf(e, ""))
	for last := ""; len(days) > 0; days = days[1:] {
		if days[0] > last {
			h.add(moveOf(e, days[0]))
			last = leaderboard.LastMovedDay(days[0])
		}
	}
	first := h.entries[turned+1].TargetDay
	if err := l.saveHead(ctx, tx, h); err != nil {
		return err
	}
	for _, step := range []struct {
		text string
		args []any
	}{
		{changeVersions, []any{e.game, first, rand.Int64()}}, //nolint:gosec // a version is no secret
		{mergeSums, []any{e.game, e.subject, e.opaque}},
		{deleteSums, []any{e.game, e.subject}},
		{endErasure, []any{e.game, e.subject, h.entries[turned].Pos, h.pos}},
	} {
		if _, err := tx.ExecContext(ctx, l.sql(step.text), step.args...); err != nil {
			return fmt.Errorf("end: %w", err)
		}
	}
	return nil
}

func moveOf(e erasure, day string) *entry {
	return &entry{Row: leaderboard.Row{Kind: leaderboard.MoveRow, HolderKind: leaderboard.Players, Holder: e.opaque, TargetDay: day}}
}

// setFormerHolders sets the former holders of moves while the ledger still knows them.
func (l *Ledger) setFormerHolders(ctx context.Context, game string, page []leaderboard.Row) error {
	var subjects map[string]string
	for i := range page {
		r := &page[i]
		if r.Kind != leaderboard.MoveRow {
			continue
		}
		if subjects == nil {
			var err error
			if subjects, err = l.movedSince(ctx, game, r.Pos); err != nil {
				return err
			}
		}
		r.FormerHolder = subjects[r.Holder]
	}
	return nil
}

func (l *Ledger) movedSince(ctx context.Context, game string, pos int64) (map[string]string, error) {
	subjects := map[string]string{}
	err := scanAll(func(rows *sql.Rows) error {
		var opaque, subject string
		err := rows.Scan(&opaque, &subject)
		subjects[opaque] = subject
		return err
	})(l.read.QueryContext(ctx, selectMoves, game, pos))
	return subjects, err
}
