package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/answers"
	"laststand/internal/match"
	"laststand/internal/metric"
)

// ErasureRetention is how long the ledger stores the former ids of moved entries. A copy
// of the leaderboards that is further behind is rebuilt.
const ErasureRetention = 10 * time.Minute

const (
	// lockOldErasure leaves out erasures that other nodes work on.
	lockOldErasure = `
SELECT game, subject, opaque_id, answers_over_at, answers_match_id FROM erasures
WHERE erased_at <= (SELECT {now}) - $1 ORDER BY erased_at LIMIT 1 {free}`

	lockBlock   = `SELECT answers, texts FROM answers WHERE game = $1 AND over_at = $2 AND match_id = $3 AND block = $4 {lock}`
	updateBlock = `UPDATE answers SET answers = $5, texts = $6 WHERE game = $1 AND over_at = $2 AND match_id = $3 AND block = $4`
)

// deleteErasedRows are statements that delete the last rows with a subject's id. These are
// the duels of the day, the revocations that ended its sessions, the latest arena, and the
// erasure itself.
// The revocation of the erasure stays under the subject's hash, for nodes that have not
// read it yet.
var deleteErasedRows = []string{
	`DELETE FROM duel_pairs WHERE game = $1 AND (player1 = $2 OR player2 = $2)`,
	`DELETE FROM revocations WHERE game = $1 AND kind IN ('linked', 'unlinked') AND id = $2`,
	eraseHost, // of an arena that was being created
	`DELETE FROM erasures WHERE game = $1 AND subject = $2`,
}

const (
	erasedPerStep   = 20 // matches whose answers one step of ForgetErased rewrites
	forgetStepLimit = time.Minute
)

// erasure is a row of table erasures.
type erasure struct {
	game, subject, opaqueID string
	last                    erasedSeat // of the last match in which the given answers were erased
}

// erasedSeat is the place of an erased player in a match.
type erasedSeat struct {
	overAt int64
	match  string
	index  int
}

func (s *erasedSeat) pointers() []any { return into(&s.overAt, &s.match, &s.index) }

// ForgetErased deletes the last data of an erasure that is at least minAge old, and reports
// whether there was one. It also erases what the player chose and wrote in all matches, because
// by now no answer of the player is on its way to the ledger. Points and times stay under the id
// that results have. It works in steps, each a transaction, and pauses after each step. If it
// stops, it continues later. Several nodes may run it. On SQLite it also empties the write-ahead
// log, so that the log has no copy of the data.
func (a *Accounts) ForgetErased(ctx context.Context, minAge time.Duration) (found bool, err error) {
	_, err = repeatWithPauses(ctx, 9, func() (erased int64, err error) {
		found, erased, err = a.forgetStep(ctx, minAge)
		return erased, err
	})
	if err != nil || !found {
		return false, err
	}
	if a.name == goose.DialectSQLite3 {
		_, err = a.writePool.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return err == nil, err
}

// forgetStep erases answers of the oldest erasure that no other node works on, and returns in how
// many matches. If these are the last ones, it also deletes the last rows with the subject's id
// and the erasure, and returns 0.
func (a *Accounts) forgetStep(ctx context.Context, minAge time.Duration) (found bool, erased int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, forgetStepLimit)
	defer cancel()
	err = a.inTx(ctx, func(tx *transaction) error {
		var e erasure
		found = tx.get(ctx, into(&e.game, &e.subject, &e.opaqueID, &e.last.overAt, &e.last.match), lockOldErasure, minAge.Milliseconds())
		if !found {
			return nil
		}
		var seats []erasedSeat
		tx.each(ctx, appendTo(&seats, (*erasedSeat).pointers), `
SELECT over_at, match_id, standing_index FROM seats
WHERE game = $1 AND player = $2 AND (over_at, match_id) > ($3, $4) ORDER BY over_at, match_id LIMIT $5`,
			e.game, cmp.Or(e.opaqueID, e.subject), e.last.overAt, e.last.match, erasedPerStep)
		for _, seat := range seats {
			if err := a.eraseGiven(ctx, tx, e.game, seat); err != nil {
				return err
			}
			e.last = seat
		}
		if len(seats) == erasedPerStep {
			erased = erasedPerStep
			tx.exec(ctx, `UPDATE erasures SET answers_over_at = $3, answers_match_id = $4 WHERE game = $1 AND subject = $2`,
				e.game, e.subject, e.last.overAt, e.last.match)
			return nil
		}
		tx.exec(ctx, `UPDATE revocations SET id = $3 WHERE game = $1 AND kind = 'erased' AND id = $2`,
			e.game, e.subject, a.hashKey.hashSubject(e.game, e.subject))
		for _, statement := range deleteErasedRows {
			tx.exec(ctx, statement, e.game, e.subject)
		}
		return nil
	})
	return found, erased, err
}

// eraseGiven erases what a player has given in a match. If the block is malformed, it erases all
// answers in it: they cannot be read, and may contain what the player has given.
func (a *Accounts) eraseGiven(ctx context.Context, tx *transaction, game string, seat erasedSeat) error {
	block, m := seat.index/answers.BlockPlayers, match.Summary{Game: game, Match: seat.match, OverAt: seat.overAt}
	all, found, err := lockAnswers(ctx, tx, m, block)
	for i := range all {
		if all[i].Player == seat.index {
			all[i].Given = nil
		}
	}
	if err == nil && found {
		err = updateAnswers(ctx, tx, m, block, all)
	}
	if errors.Is(err, answers.ErrMalformed) {
		a.emptiedBlocks.Inc()
		a.log.WarnContext(ctx, "malformed answers deleted during an erasure", "game", game, "match", seat.match, "block", block, "error", err)
		err = updateAnswers(ctx, tx, m, block, nil)
	}
	return err
}

func newEmptiedBlocks(r prometheus.Registerer) prometheus.Counter {
	return metric.For(r, "laststand_ledger_").Counter("malformed_answer_blocks_total", "Malformed blocks of answers that an erasure of a player has emptied.")
}

// lockAnswers locks a block and returns its answers.
func lockAnswers(ctx context.Context, tx *transaction, m match.Summary, block int) (all []answers.Answer, found bool, err error) {
	var packed []byte
	var texts string
	if found = tx.get(ctx, into(&packed, &texts), lockBlock, m.Game, m.OverAt, m.Match, block); found {
		all, err = answers.Unpack(block, packed, texts)
	}
	return all, found, err
}

// updateAnswers replaces the answers of a block that lockAnswers has locked. It returns
// answers.ErrMalformed for answers that cannot be packed again, because the block was malformed.
func updateAnswers(ctx context.Context, tx *transaction, m match.Summary, block int, all []answers.Answer) error {
	packed, texts, err := answers.Pack(all)
	if err != nil {
		return fmt.Errorf("%w: %w", answers.ErrMalformed, err)
	}
	tx.exec(ctx, updateBlock, m.Game, m.OverAt, m.Match, block, packed, texts)
	return nil
}
