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
	// selectDaysOf selects the days on which a player may have entries: the summed days
	// with a sum of the player, and all days that are not summed yet.
	selectPlayerDays = `
SELECT day FROM day_sums WHERE game = $1 AND holder_kind = 'player' AND holder = $2
UNION SELECT day FROM days WHERE game = $1 AND summed = 0 ORDER BY 1`

	// updateDayVersionsFrom locks the days: see updateSummedTo.
	updateDayVersionsFrom = `UPDATE days SET version = $3 WHERE game = $1 AND day >= $2`

	deleteSums = `DELETE FROM day_sums WHERE game = $1 AND holder_kind = 'player' AND holder = $2`

	endErasure = `UPDATE erasures SET first_move_pos = $3, last_move_pos = $4, ended_at = {now} WHERE game = $1 AND subject = $2`

	selectMoves = `SELECT opaque_id, subject FROM erasures WHERE game = $1 AND last_move_pos >= $2`
)

// mergeSums adds the sums of a subject to those of its opaque id, which may exist:
// results that were settled after the erasure have the opaque id.
var mergeSums = strings.ReplaceAll(`
INSERT INTO day_sums (game, `+sumColumns+`)
SELECT o.game, o.holder_kind, $3, o.day, o.newest, o.committed_at, {old} FROM day_sums o WHERE o.game = $1 AND o.holder_kind = 'player' AND o.holder = $2
ON CONFLICT (game, holder_kind, holder, day) DO UPDATE SET
    newest = CASE WHEN excluded.newest > day_sums.newest THEN excluded.newest ELSE day_sums.newest END,
    committed_at = CASE WHEN excluded.newest > day_sums.newest THEN excluded.committed_at ELSE day_sums.committed_at END,
    `+eachAggregate("@ = day_sums.@ + excluded.@"), "{old}", eachAggregate("o.@"))

// endErasure renames the remaining results under the lock on the game's head, so that no
// running commit can still write the subject. It also adds the entries that rename the
// subject on the leaderboards. hasMoves is true if it did; false if another node has
// ended the erasure.
func (l *Ledger) endErasure(ctx context.Context, e erasure) (hasMoves bool, err error) {
	err = l.inTxWithTasks(ctx, func(tx *sql.Tx) ([]taskqueue.NewTask, error) {
		h, err := l.lockHead(ctx, tx, e.game)
		if err != nil {
			return nil, fmt.Errorf("head: %w", err)
		}
		err = e.scan(tx.QueryRowContext(ctx, l.expandSQL(lockErasure), e.game, e.subject))
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

// saveMoves renames the subject in sums and saves the head with the entries that rename
// the subject on leaderboards. One entry is for leaderboards over several days. For
// daily leaderboards there is one entry for up to ten days.
func (l *Ledger) saveMoves(ctx context.Context, tx *sql.Tx, h *head, e erasure) error {
	firstMove := len(h.entries)
	var days []string
	err := scanAll(func(rows *sql.Rows) error {
		var day string
		err := rows.Scan(&day)
		days = append(days, day)
		return err
	})(tx.QueryContext(ctx, selectPlayerDays, e.game, e.subject))
	if err != nil {
		return fmt.Errorf("days: %w", err)
	}
	if len(days) == 0 {
		days = []string{h.currentDay}
	}
	h.add(newMoveEntry(e, ""))
	for last := ""; len(days) > 0; days = days[1:] {
		if days[0] > last {
			h.add(newMoveEntry(e, days[0]))
			last = leaderboard.LastMovedDay(days[0])
		}
	}
	first := h.entries[firstMove+1].TargetDay
	if err := l.saveHead(ctx, tx, h); err != nil {
		return err
	}
	for _, step := range []struct {
		text string
		args []any
	}{
		{updateDayVersionsFrom, []any{e.game, first, rand.Int64()}}, //nolint:gosec // a version is no secret
		{mergeSums, []any{e.game, e.subject, e.opaque}},
		{deleteSums, []any{e.game, e.subject}},
		{endErasure, []any{e.game, e.subject, h.entries[firstMove].Pos, h.pos}},
	} {
		if _, err := tx.ExecContext(ctx, l.expandSQL(step.text), step.args...); err != nil {
			return fmt.Errorf("end: %w", err)
		}
	}
	return nil
}

func newMoveEntry(e erasure, day string) *entry {
	return &entry{Row: leaderboard.Row{Kind: leaderboard.MoveRow, HolderKind: leaderboard.Players, Holder: e.opaque, TargetDay: day}}
}

// setFormerHolders sets the former ids of holders in move entries, if the ledger still
// has them (see ErasureRetention).
func (l *Ledger) setFormerHolders(ctx context.Context, game string, page []leaderboard.Row) error {
	var subjects map[string]string
	for i := range page {
		r := &page[i]
		if r.Kind != leaderboard.MoveRow {
			continue
		}
		if subjects == nil {
			var err error
			if subjects, err = l.movedSubjects(ctx, game, r.Pos); err != nil {
				return err
			}
		}
		r.FormerHolder = subjects[r.Holder]
	}
	return nil
}

// movedSubjects returns the subjects of erasures that ended at or after a position, by
// their opaque ids.
func (l *Ledger) movedSubjects(ctx context.Context, game string, pos int64) (map[string]string, error) {
	subjects := map[string]string{}
	err := scanAll(func(rows *sql.Rows) error {
		var opaque, subject string
		err := rows.Scan(&opaque, &subject)
		subjects[opaque] = subject
		return err
	})(l.readPool.QueryContext(ctx, selectMoves, game, pos))
	return subjects, err
}
