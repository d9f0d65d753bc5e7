package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/match"
	"laststand/internal/timer"
)

// Retention says how long the ledger keeps the answers and matches of a game after the end
// of a match. 0 means for good. Answers are never kept for longer than their match.
type Retention struct{ Answers, Matches time.Duration }

// OldMatches deletes answers and matches that are older than the retention of their game.
type OldMatches struct {
	*database
	retention map[string]Retention // by game
}

// answersAge returns how long answers are kept.
func (r Retention) answersAge() time.Duration {
	if r.Answers == 0 || r.Matches > 0 && r.Matches < r.Answers {
		return r.Matches
	}
	return r.Answers
}

const (
	deleteAnswers = `
DELETE FROM answers WHERE (game, over_at, match_id, block) IN (
    SELECT game, over_at, match_id, block FROM answers WHERE game = $1 AND over_at < (SELECT {now}) - $2 ORDER BY over_at, match_id, block LIMIT $3 {free})`

	deleteAsked = `
DELETE FROM asked_questions WHERE id IN (SELECT id FROM asked_questions WHERE game = $1 AND asked_at < (SELECT {now}) - $2 ORDER BY asked_at LIMIT $3 {free})`

	selectOldMatches = `SELECT id, over_at, summary, {now} FROM matches WHERE game = $1 AND over_at < (SELECT {now}) - $2 ORDER BY over_at, id LIMIT $3 {free}`
	deleteSeats      = `
DELETE FROM seats WHERE (game, player, over_at, match_id) IN (
    SELECT game, player, over_at, match_id FROM seats WHERE game = $1 AND match_id = $2 ORDER BY standing_index LIMIT $3)`

	// These limit a step of DeleteOld.
	deletedBlocks  = 100
	deletedMatches = 50
	deletedSeats   = 1000

	// askedSlack is how much older than a match's end asked_at of its questions may be, and
	// some time more.
	askedSlack = 48 * time.Hour

	// arenaSlack is how long before its match's end an arena may have been created, and some
	// time more.
	arenaSlack = 48 * time.Hour
)

// DeleteOld deletes the answers and matches of a game that are older than its retention,
// oldest first, and returns the number of deleted matches and blocks of answers. It works
// in steps, each a transaction, and pauses after each step for nine times as long.
// It never deletes what leaderboards are computed from, nor totals and ratings. Several
// nodes may run it: each leaves out what another one is deleting.
func (o *OldMatches) DeleteOld(ctx context.Context, game string) (deleted int64, err error) {
	rule := o.retention[game]
	deleteOlder := func(statement string, age time.Duration, limit int) (int64, error) {
		return repeatWithPauses(ctx, 9, func() (int64, error) { return o.exec(ctx, statement, game, age.Milliseconds(), limit) })
	}
	if age := rule.answersAge(); age > 0 {
		deleted, err = deleteOlder(deleteAnswers, age, deletedBlocks)
		if err == nil {
			_, err = deleteOlder(deleteAsked, age+askedSlack, deletedBlocks)
		}
	}
	if rule.Matches == 0 || err != nil {
		return deleted, err
	}
	if _, err := deleteOlder(deleteArenas, rule.Matches+arenaSlack, deletedMatches); err != nil {
		return deleted, err
	}
	_, err = repeatWithPauses(ctx, 9, func() (int64, error) {
		changed, n, err := o.deleteMatches(ctx, game, rule.Matches)
		deleted += n
		return changed, err
	})
	return deleted, err
}

// repeatWithPauses calls a step of background work until it returns 0, and returns the sum. It
// pauses after each step for pauses times as long as the step took. With 9 the work takes a tenth
// of the time, and `bench duels` measures what that costs.
func repeatWithPauses(ctx context.Context, pauses int, step func() (int64, error)) (sum int64, err error) {
	for {
		began := time.Now()
		n, err := step()
		sum += n
		if err != nil || n == 0 {
			return sum, err
		}
		if !timer.Sleep(ctx, time.Duration(pauses)*time.Since(began)) {
			return sum, ctx.Err()
		}
	}
}

// deleteMatches deletes some old matches with their seats. A match without seats that are
// left is deleted last, so that the next step continues with a large one. The
// number changed also counts those with seats left, and those whose end it has stored.
func (o *OldMatches) deleteMatches(ctx context.Context, game string, age time.Duration) (changed, deleted int64, err error) {
	err = o.inTx(ctx, func(tx *transaction) error {
		var now int64
		var old []oldMatch
		tx.each(ctx, appendTo(&old, func(m *oldMatch) []any { return into(&m.id, &m.overAt, &m.summary, &now) }),
			selectOldMatches, game, age.Milliseconds(), deletedMatches)
		seatsLeft := int64(deletedSeats)
		for _, m := range old {
			if seatsLeft == 0 {
				break
			}
			changed++
			if overAt := m.end(now); overAt >= now-age.Milliseconds() {
				tx.exec(ctx, `UPDATE matches SET over_at = $3 WHERE game = $1 AND id = $2`, game, m.id, overAt)
				continue
			}
			n := tx.exec(ctx, deleteSeats, game, m.id, seatsLeft)
			if n < seatsLeft {
				tx.exec(ctx, `DELETE FROM voids WHERE game = $1 AND match_id = $2`, game, m.id)
				tx.exec(ctx, `DELETE FROM matches WHERE game = $1 AND id = $2`, game, m.id)
				deleted++
			}
			seatsLeft -= n
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	return changed, deleted, nil
}

// oldMatch is a row of table matches.
type oldMatch struct {
	id      string
	overAt  int64
	summary string
}

// end returns the end of a match. A program before the column over_at has stored it only in
// the summary. If that cannot be read, it returns now, so that the match is kept.
func (m *oldMatch) end(now int64) int64 {
	var summary match.Summary
	if m.overAt > 0 {
		return m.overAt
	}
	if json.Unmarshal([]byte(m.summary), &summary) != nil {
		return now
	}
	return summary.OverAt
}

// checkAge returns ErrBadResult for a match that is so old that the ledger may have counted
// and deleted it.
func (r Retention) checkAge(result *match.Result, now int64) error {
	if r.Matches == 0 || result.OverAt >= now-r.Matches.Milliseconds() {
		return nil
	}
	return fmt.Errorf("%w: match %s is older than the %d days for which the game keeps matches; it may have counted before. If no leaderboard has it, raise retention.matches_days and requeue it",
		ErrBadResult, result.Match, int64(r.Matches/(24*time.Hour)))
}
