package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pressly/goose/v3"

	"laststand/internal/leaderboard"
	"laststand/internal/taskqueue"
)

const (
	// selectPlayerDays selects the days on which a player may have entries: the summed days
	// with a sum of the player, and all days that are not summed yet.
	selectPlayerDays = `
SELECT day FROM day_sums WHERE game = $1 AND holder_kind = 'player' AND holder = $2
UNION SELECT day FROM days WHERE game = $1 AND summed = 0 ORDER BY 1`

	// updateDayVersionsFrom locks the days: see updateSummedTo.
	updateDayVersionsFrom = `UPDATE days SET version = $3 WHERE game = $1 AND day >= $2`

	deleteSums = `DELETE FROM day_sums WHERE game = $1 AND holder_kind = 'player' AND holder = $2`

	endErasure = `UPDATE erasures SET first_move_pos = $3, last_move_pos = $4, ended_at = {now} WHERE game = $1 AND subject = $2`
)

// mergeSums adds the sums of a subject to those of its opaque id, which may exist:
// results that were settled after the erasure have the opaque id.
var mergeSums = `
INSERT INTO day_sums (game, ` + sumColumns + `)
SELECT o.game, o.holder_kind, $3, o.day, o.newest, o.committed_at, ` + eachAggregate("o.@") + ` FROM day_sums o
WHERE o.game = $1 AND o.holder_kind = 'player' AND o.holder = $2` + addOnConflict

// endErasure renames the remaining results under the lock on the game's head, so that no
// running commit can still write the subject. It also adds the entries that rename the
// subject on the leaderboards. hasMoves is true if it did; false if another node has
// ended the erasure.
func (s *Erasures) endErasure(ctx context.Context, e erasure) (hasMoves bool, err error) {
	err = s.entries.inTxWithTasks(ctx, func(tx *transaction) ([]taskqueue.NewTask, error) {
		h, err := s.entries.lockHead(ctx, tx, e.game)
		if err != nil {
			return nil, fmt.Errorf("head: %w", err)
		}
		err = e.scan(tx.queryRow(ctx, lockErasure, e.game, e.subject))
		if err != nil { // errNoErasure: another node has ended it
			return nil, err
		}
		for more := true; more; {
			if more, err = s.renamePage(ctx, tx, e); err != nil {
				return nil, err
			}
		}
		if err := s.saveMoves(ctx, tx, h, e); err != nil {
			return nil, err
		}
		hasMoves = true
		return s.entries.eventTasks(h), nil
	})
	return hasMoves && err == nil, err
}

// saveMoves renames the subject in sums and saves the head with the entries that rename
// the subject on leaderboards. One entry is for leaderboards over several days. For
// daily leaderboards there is one entry for up to ten days.
func (s *Erasures) saveMoves(ctx context.Context, tx *transaction, h *head, e erasure) error {
	firstMove := len(h.entries)
	days, err := collect(func(day *string) []any { return []any{day} })(tx.query(ctx, selectPlayerDays, e.game, e.subject))
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
	if err := s.entries.saveHead(ctx, tx, h); err != nil {
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
		if _, err := tx.exec(ctx, s.expandSQL(step.text), step.args...); err != nil {
			return fmt.Errorf("end: %w", err)
		}
	}
	return nil
}

func newMoveEntry(e erasure, day string) *entry {
	return &entry{Row: leaderboard.Row{Kind: leaderboard.MoveRow, HolderKind: leaderboard.Players, Holder: e.opaque, TargetDay: day}}
}

// ErasureRetention is how long the ledger stores the former ids of moved entries after the
// last step of an erasure. A copy of the leaderboards that is further behind is rebuilt.
const ErasureRetention = 10 * time.Minute

// deleteErased are statements that delete the last rows with a subject's id. These are
// the duels of the day, the revocations that ended its sessions, and the erasure itself. The revocation of the erasure stays under
// the subject's hash, for nodes that have not read it yet.
var deleteErased = []string{
	`DELETE FROM duel_pairs WHERE game = $1 AND (player1 = $2 OR player2 = $2)`,
	`DELETE FROM revocations WHERE game = $1 AND kind IN ('linked', 'unlinked') AND id = $2`,
	`DELETE FROM erasures WHERE game = $1 AND subject = $2`,
}

const hashErasedRevocation = `UPDATE revocations SET id = $3 WHERE game = $1 AND kind = 'erased' AND id = $2`

const selectEndedErasure = `
SELECT game, subject, opaque_id FROM erasures WHERE ended_at > 0 AND ended_at <= (SELECT {now}) - $1 ORDER BY ended_at, next_step_at LIMIT 1 {free}`

// ForgetErased deletes the last data of one erasure that ended at least minAge ago, and
// reports whether there was one. On SQLite it also empties the write-ahead log, so that
// the log has no copy of the data.
func (s *Erasures) ForgetErased(ctx context.Context, minAge time.Duration) (_ bool, err error) {
	defer describe(&err, "delete the data of an erasure")
	err = s.inTx(ctx, func(tx *transaction) error {
		var e erasure
		err := tx.queryRow(ctx, selectEndedErasure, minAge.Milliseconds()).Scan(&e.game, &e.subject, &e.opaque)
		if err != nil {
			return err
		}
		if _, err := tx.exec(ctx, hashErasedRevocation, e.game, e.subject, s.hashKey.hashSubject(e.game, e.subject)); err != nil {
			return err
		}
		for _, statement := range deleteErased {
			if _, err := tx.exec(ctx, statement, e.game, e.subject); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil && s.name == goose.DialectSQLite3 {
		_, err = s.writePool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return err == nil, err
}
