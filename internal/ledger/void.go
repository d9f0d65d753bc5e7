package ledger

import (
	"context"
	"fmt"
	"slices"

	"laststand/internal/answers"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

// MakeVoid makes a question of a settled match not count, as if the match had never asked it. It
// counts all stored answers again: points, standings, team scores, players' totals and sums
// of days change together. Leaderboards change when they apply the corrections. Ratings stay.
// isNew is false if the question is void already; then nothing changes.
//
// The error is match.ErrNotFound for an unknown match, answers.ErrNoQuestion,
// answers.ErrNotRecountable, answers.ErrTooOld, or why the answers are not complete:
// answers.ErrOnTheWay or answers.ErrNotStored.
func (c *Corrections) MakeVoid(ctx context.Context, v answers.Void) (isNew bool, err error) {
	err = c.inTx(ctx, func(tx *transaction) (err error) {
		isNew, err = c.makeVoid(ctx, tx, v)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("make question %d of match %s void: %w", v.Question, v.Match, err)
	}
	return isNew, nil
}

// makeVoid is the transaction of MakeVoid. It locks the game's head before the match, as Erase
// does. It enqueues the tasks that report ended days and the correction.
func (c *Corrections) makeVoid(ctx context.Context, tx *transaction, v answers.Void) (isNew bool, err error) {
	h, err := c.entries.lockHead(ctx, tx, v.Game)
	if err != nil {
		return false, err
	}
	m, err := lockSummary(ctx, tx, v)
	if err != nil || slices.Contains(m.Voided, v.Question) {
		return false, err
	}
	if v.MaxAge > 0 && h.now-m.OverAt > v.MaxAge.Milliseconds() {
		return false, answers.ErrTooOld
	}
	r := newRecount(ctx, tx, m, v.Question)
	isComplete, err := r.recountBlocks(ctx)
	if err != nil {
		return false, err
	}
	if !isComplete {
		return false, missingReason(m, h.now)
	}
	r.rank()
	if err := correctEntries(ctx, tx, h, r); err != nil {
		return false, err
	}
	h.save(ctx, tx)
	r.save(ctx)
	tx.exec(ctx, `INSERT INTO voids (game, match_id, question, reason, voided_by, voided_at) VALUES ($1, $2, $3, $4, $5, {now})`,
		v.Game, v.Match, v.Question, v.Reason, v.By)
	tasks := c.entries.eventTasks(h)
	if events := c.entries.events; events != nil {
		tasks = append(tasks, c.entries.withoutInvalid(h.game, events.TasksForCorrection(r.after, v.Question, h.now))...)
	}
	return true, enqueueAll(ctx, tx, tasks)
}

// lockSummary locks a match and returns its summary, if the question can be made void.
func lockSummary(ctx context.Context, tx *transaction, v answers.Void) (m match.Summary, err error) {
	if !tx.get(ctx, into(asJSON(&m)), `SELECT summary FROM matches WHERE game = $1 AND id = $2 {lock}`, v.Game, v.Match) {
		return m, match.ErrNotFound
	}
	m.Game, m.Match = v.Game, v.Match
	switch {
	case m.Rules == nil || m.Mode == match.Survival:
		return m, answers.ErrNotRecountable
	case v.Question < 0 || v.Question >= m.RevealedQuestions():
		return m, answers.ErrNoQuestion
	}
	return m, nil
}

// correctEntries adds a correction to h for each result of the match that still counts, with
// what changes of its values, and writes what follows from these corrections.
func correctEntries(ctx context.Context, tx *transaction, h *head, r *recount) error {
	corrections, err := newCorrections(ctx, tx, Disqualification{Game: h.game, Match: r.after.Match}, r.after)
	if err != nil || len(corrections) == 0 {
		return err
	}
	players, teams := r.changes()
	for _, e := range corrections {
		e.adjustedPos, e.correctedPos = e.correctedPos, 0
		e.Newest, e.NewestOfTargetDay = max(e.Newest, e.adjustedPos), max(e.NewestOfTargetDay, e.adjustedPos)
		e.Aggregates = players[e.Holder]
		if e.HolderKind == leaderboard.Teams {
			e.Aggregates = teams[e.Holder]
		}
	}
	h.add(corrections...)
	applyCorrections(ctx, tx, h.game, corrections)
	return nil
}
