package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/answers"
	"laststand/internal/match"
	"laststand/internal/metric"
)

// errErasureTaken means that another node works on an erasure or has completed it.
var errErasureTaken = errors.New("another node has taken the erasure")

const (
	lockErasure = `SELECT answers_over_at, answers_match_id FROM erasures WHERE game = $1 AND subject = $2 {free}`

	selectErasedSeats = `
SELECT over_at, match_id, standing_index FROM seats
WHERE game = $1 AND player = $2 AND (over_at, match_id) > ($3, $4) ORDER BY over_at, match_id LIMIT $5`

	lockBlock       = `SELECT answers, texts FROM answers WHERE game = $1 AND over_at = $2 AND match_id = $3 AND block = $4 {lock}`
	updateBlock     = `UPDATE answers SET answers = $5, texts = $6 WHERE game = $1 AND over_at = $2 AND match_id = $3 AND block = $4`
	updateErasedTo  = `UPDATE erasures SET answers_over_at = $3, answers_match_id = $4 WHERE game = $1 AND subject = $2`
	erasedPerStep   = 20 // matches whose answers one step of eraseAnswers rewrites
	eraseAnswersFor = time.Minute
)

// erasure is a row of table erasures.
type erasure struct {
	game, subject, opaqueID string
}

// erasedSeat is the place of an erased player in a match.
type erasedSeat struct {
	overAt int64
	match  string
	index  int
}

func (s *erasedSeat) pointers() []any { return into(&s.overAt, &s.match, &s.index) }

// resultID returns the player's id in results.
func (e erasure) resultID() string {
	return cmp.Or(e.opaqueID, e.subject)
}

// eraseAnswers erases what a player chose and wrote in all matches. Points and times stay
// under the id that results have. It works in steps, each a transaction, and pauses after
// each step. If it stops, it continues later. It returns errErasureTaken if another node
// takes a step at the same time.
func (a *Accounts) eraseAnswers(ctx context.Context, e erasure) error {
	for {
		began := time.Now()
		isDone, err := a.eraseAnswersStep(ctx, e)
		if err != nil || isDone {
			return err
		}
		if err := pauseAfterStep(ctx, began); err != nil {
			return err
		}
	}
}

func (a *Accounts) eraseAnswersStep(ctx context.Context, e erasure) (isDone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, eraseAnswersFor)
	defer cancel()
	err = a.inTx(ctx, func(tx *transaction) error {
		last, err := e.lock(ctx, tx)
		if err != nil {
			return err
		}
		var seats []erasedSeat
		tx.each(ctx, appendTo(&seats, (*erasedSeat).pointers), selectErasedSeats, e.game, e.resultID(), last.overAt, last.match, erasedPerStep)
		for _, seat := range seats {
			if err := a.eraseGiven(ctx, tx, e.game, seat); err != nil {
				return err
			}
			last = seat
		}
		if isDone = len(seats) < erasedPerStep; !isDone {
			tx.exec(ctx, updateErasedTo, e.game, e.subject, last.overAt, last.match)
		}
		return nil
	})
	return isDone && err == nil, err
}

// lock locks the erasure and returns the last match in which the given answers were erased. It
// returns errErasureTaken if the erasure is locked or completed.
func (e erasure) lock(ctx context.Context, tx *transaction) (last erasedSeat, err error) {
	if !tx.get(ctx, into(&last.overAt, &last.match), lockErasure, e.game, e.subject) {
		err = errErasureTaken
	}
	return last, err
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
