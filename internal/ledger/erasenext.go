package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"laststand/internal/match"
)

// Limits of one step. It renames up to erasePageSize entries and as many seats. It
// rewrites up to maxEraseBytes of match records, but at least one record.
const (
	erasePageSize = 500
	maxEraseBytes = 4 << 20
)

// eraseRetryDelay is how long an erasure waits after a failed step. Other erasures continue.
const eraseRetryDelay = 30 * time.Second

// errNoErasure means that no erasure needs a step now.
var errNoErasure = errors.New("no erasure")

// erasure is a running erasure. In results, the opaque id replaces the subject.
type erasure struct{ game, subject, opaque string }

const (
	// selectErasure skips erasures that wait after a failed step. If the end of a wait is
	// more than eraseRetryDelay ahead, a wrong clock has written it, and it is ignored.
	selectErasure = `
SELECT game, subject, opaque_id FROM erasures
WHERE ended_at = 0 AND (next_step_at <= (SELECT {now}) OR next_step_at > (SELECT {now}) + $1) ORDER BY ended_at, next_step_at LIMIT 1 {free}`
	postponeErasure = `UPDATE erasures SET next_step_at = {now} + $3 WHERE game = $1 AND subject = $2 AND ended_at = 0`

	lockErasure = `SELECT game, subject, opaque_id FROM erasures WHERE game = $1 AND subject = $2 AND ended_at = 0 {lock}`

	renameEntries = `
UPDATE entries SET holder = $3 WHERE game = $1 AND pos IN (
    SELECT pos FROM entries WHERE game = $1 AND holder_kind = 'player' AND holder = $2 ORDER BY pos LIMIT $4)`

	// selectSeats also returns the size in bytes of a match record that may have the
	// player's id, which are those of buzzer matches, and 0 for other records.
	selectSeats = `
SELECT over_at, match_id, CASE WHEN mode = 'buzzer' THEN COALESCE((
    SELECT octet_length(m.summary) FROM matches m WHERE m.game = s.game AND m.id = s.match_id), 1) ELSE 0 END
FROM seats s WHERE game = $1 AND player = $2 ORDER BY over_at, match_id LIMIT $3`

	renameSeats = `
WITH v (game, player, over_at, match_id, opaque) AS ({rows})
UPDATE seats SET player = v.opaque
FROM v WHERE seats.game = v.game AND seats.player = v.player AND seats.over_at = v.over_at AND seats.match_id = v.match_id`

	lockMatch = `SELECT summary FROM matches WHERE game = $1 AND id = $2 {lock}`
)

// EraseNext does the next step of the oldest running erasure. A step renames a page of
// the subject's results. The last step also adds entries that rename the subject on
// leaderboards. EraseNext returns the game, "" if there is nothing to do now. hasMoves
// reports whether leaderboards have such entries to apply.
//
// Each step is a transaction. EraseNext may stop at any point, and several nodes may run
// it. After a failed step it logs the error, and the erasure waits for eraseRetryDelay,
// so that it does not delay others.
func (s *Erasures) EraseNext(ctx context.Context) (game string, hasMoves bool, err error) {
	e, hasMoves, err := s.runEraseStep(ctx)
	switch {
	case errors.Is(err, errNoErasure):
		return "", false, nil
	case err != nil && (e.game == "" || !s.postponeFailedErasure(ctx, e, err)):
		return "", false, fmt.Errorf("ledger: erase: %w", err)
	}
	return e.game, hasMoves, nil
}

func (s *Erasures) runEraseStep(ctx context.Context) (e erasure, hasMoves bool, err error) {
	more := false
	err = s.inTx(ctx, func(tx *transaction) (err error) {
		row := tx.queryRow(ctx, selectErasure, eraseRetryDelay.Milliseconds())
		if err := e.scan(row); err != nil {
			return err
		}
		more, err = s.renamePage(ctx, tx, e)
		return err
	})
	if err == nil && !more {
		hasMoves, err = s.endErasure(ctx, e)
	}
	return e, hasMoves, err
}

func (e *erasure) scan(row *sql.Row) error {
	err := row.Scan(&e.game, &e.subject, &e.opaque)
	if errors.Is(err, sql.ErrNoRows) {
		return errNoErasure
	}
	return err
}

// postponeFailedErasure makes an erasure wait after a failed step, and reports whether that worked.
func (s *Erasures) postponeFailedErasure(ctx context.Context, e erasure, cause error) bool {
	if _, err := s.exec(ctx, postponeErasure, e.game, e.subject, eraseRetryDelay.Milliseconds()); err != nil {
		return false // the database is away, or the server stops
	}
	s.log.WarnContext(ctx, "erasure step failed", "game", e.game, "retry_in", eraseRetryDelay.String(), "error", cause)
	return true
}

// renamePage renames some entries and seats, and reports whether there may be more.
func (s *Erasures) renamePage(ctx context.Context, tx *transaction, e erasure) (more bool, err error) {
	entries, err := tx.exec(ctx, renameEntries, e.game, e.subject, e.opaque, erasePageSize)
	if err != nil {
		return false, fmt.Errorf("entries: %w", err)
	}
	moreSeats, err := s.renameSeats(ctx, tx, e)
	return entries == erasePageSize || moreSeats, err
}

// renameSeats renames some seats, and the player in the records of these matches.
func (s *Erasures) renameSeats(ctx context.Context, tx *transaction, e erasure) (more bool, err error) {
	var seats [][]any
	var records []string
	seatCount, recordBytes := 0, 0
	err = scanAll(func(rows *sql.Rows) error {
		var at int64
		var id string
		var size int
		err := rows.Scan(&at, &id, &size)
		seatCount++
		if recordBytes += size; recordBytes > maxEraseBytes && len(seats) > 0 {
			return err // left for the next step
		}
		seats = append(seats, []any{e.game, e.subject, at, id, e.opaque})
		if size > 0 {
			records = append(records, id)
		}
		return err
	})(tx.query(ctx, selectSeats, e.game, e.subject, erasePageSize))
	if err != nil {
		return false, fmt.Errorf("seats: %w", err)
	}
	slices.Sort(records) // all transactions lock records in this order
	for _, id := range records {
		if err := s.renameInRecord(ctx, tx, e, id); err != nil {
			return false, fmt.Errorf("match %s: %w", id, err)
		}
	}
	return seatCount == erasePageSize || len(seats) < seatCount, tx.bulk(ctx, renameSeats, seats, nil)
}

// renameInRecord renames a player in a match's record.
func (s *Erasures) renameInRecord(ctx context.Context, tx *transaction, e erasure, id string) error {
	var text string
	if err := tx.queryRow(ctx, lockMatch, e.game, id).Scan(&text); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	var m match.Summary
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	for i := range m.Firsts {
		if m.Firsts[i].Player == e.subject {
			m.Firsts[i].Player = e.opaque
		}
	}
	record, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return tx.bulk(ctx, updateMatch, [][]any{{e.game, id, string(record)}}, nil)
}

const selectAnyErasure = `SELECT EXISTS (SELECT 1 FROM erasures)`

// HasErasures reports whether there is any erasure whose data ForgetErased has not deleted
// yet.
func (s *Erasures) HasErasures(ctx context.Context) (hasErasures bool, err error) {
	defer describe(&err, "erasures")
	err = s.queryRow(ctx, selectAnyErasure).Scan(&hasErasures)
	return hasErasures, err
}
