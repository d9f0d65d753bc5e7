package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"laststand/internal/answers"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

const (
	lockMatch = `SELECT summary FROM matches WHERE game = $1 AND id = $2 {lock}`

	insertVoid = `INSERT INTO voids (game, match_id, question, reason, voided_by, voided_at) VALUES ($1, $2, $3, $4, $5, {now})`
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
	defer describe(&err, "make question %d of match %s void", v.Question, v.Match)
	err = c.entries.inTxWithTasks(ctx, func(tx *transaction) (tasks []taskqueue.NewTask, err error) {
		isNew, tasks, err = c.makeVoid(ctx, tx, v)
		return tasks, err
	})
	return isNew && err == nil, err
}

// makeVoid is the transaction of MakeVoid. It locks the game's head first, as Erase and Commit
// do. It returns the tasks that report ended days and the correction.
func (c *Corrections) makeVoid(ctx context.Context, tx *transaction, v answers.Void) (isNew bool, tasks []taskqueue.NewTask, err error) {
	h, err := c.entries.lockHead(ctx, tx, v.Game)
	if err != nil {
		return false, nil, fmt.Errorf("head: %w", err)
	}
	m, err := lockSummary(ctx, tx, v)
	if err != nil || slices.Contains(m.Voided, v.Question) {
		return false, nil, err
	}
	if v.MaxAge > 0 && h.now-m.OverAt > v.MaxAge.Milliseconds() {
		return false, nil, answers.ErrTooOld
	}
	r, err := newRecount(ctx, tx, m, v.Question)
	if err != nil {
		return false, nil, err
	}
	isComplete, err := r.recountBlocks(ctx)
	if err != nil {
		return false, nil, err
	}
	if !isComplete {
		return false, nil, missingReason(m, h.now)
	}
	r.rank()
	if err := c.correctEntries(ctx, tx, h, r); err != nil {
		return false, nil, fmt.Errorf("entries: %w", err)
	}
	if err := c.entries.saveHead(ctx, tx, h); err != nil {
		return false, nil, err
	}
	if err := r.save(ctx); err != nil {
		return false, nil, err
	}
	_, err = tx.exec(ctx, insertVoid, v.Game, v.Match, v.Question, v.Reason, v.By)
	return true, c.entries.correctionTasks(h, r.after, v.Question), err
}

// lockSummary locks a match and returns its summary, if the question can be made void.
func lockSummary(ctx context.Context, tx *transaction, v answers.Void) (m match.Summary, err error) {
	var text string
	found, err := scanOptional(tx.queryRow(ctx, lockMatch, v.Game, v.Match), &text)
	if err != nil || !found {
		return m, cmp.Or(err, match.ErrNotFound)
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, err
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
func (c *Corrections) correctEntries(ctx context.Context, tx *transaction, h *head, r *recount) error {
	entries, err := c.countedEntries(ctx, tx, Disqualification{Game: h.game, Match: r.after.Match}, r.after)
	if err != nil || len(entries) == 0 {
		return err
	}
	corrections, err := c.newCorrections(ctx, tx, h.game, entries)
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
	return c.applyCorrections(ctx, tx, h.game, corrections)
}
