package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

// Disqualification says which results to correct, with the reason and the operator.
type Disqualification struct {
	Game, Match string
	Player      string // "": all players and teams of the match
	Reason, By  string
}

// DisqualifyResult says which corrections Disqualify added. It is zero if the match did not
// count, or if everything was corrected before.
type DisqualifyResult struct {
	EntryCount        int   // number of corrections
	FirstPos, LastPos int64 // positions of the corrections; 0 if there are none
}

// Disqualify makes the results of a player in a match not count, or those of all players
// and teams. It adds corrections to the game's current day and updates totals and sums.
// Leaderboards change when they apply the corrections. Results that were corrected
// before do not change. The match's record, history and ratings stay.
//
// ErrNotFound means that the game has no such match, or the match no such player.
func (c *Corrections) Disqualify(ctx context.Context, d Disqualification) (_ DisqualifyResult, err error) {
	defer describe(&err, "disqualify in match %s of %s", d.Match, d.Game)
	var result DisqualifyResult
	m, err := c.history.readSummary(ctx, d.Game, d.Match)
	if errors.Is(err, match.ErrNotFound) {
		err = ErrNotFound
	}
	if err == nil {
		err = c.entries.inTxWithTasks(ctx, func(tx *transaction) (tasks []taskqueue.NewTask, err error) {
			result, tasks, err = c.writeCorrections(ctx, tx, d, m)
			return tasks, err
		})
	}
	return result, err
}

const (
	selectOneSeat = `SELECT player FROM seats WHERE game = $1 AND match_id = $2 AND ($3 = '' OR player = $3) ORDER BY standing_index LIMIT 1`

	selectPlayerEntry = `
SELECT pos FROM entries WHERE game = $1 AND holder_kind = 'player' AND holder = $2 AND match_id = $3 AND kind = 'result'
ORDER BY pos DESC LIMIT 1`
)

// selectMatchEntries selects both parts of the results, see bothParts.
var selectMatchEntries = bothParts(`
SELECT {pos} AS pos, {day} AS day, e.holder_kind, e.holder, `+eachAggregate("e.@")+` FROM entries e
WHERE e.game = $1 AND e.match_id = $2 AND {part} AND {pos} BETWEEN $3 AND $4`) + ` ORDER BY 1`

// countedEntries returns the result entries of the match: those of all players and teams,
// or of d.Player. It returns none if the match did not count. It finds them near the
// entry of one player. The caller holds the lock on the game's head, so no erasure
// renames them at the same time.
func (c *Corrections) countedEntries(ctx context.Context, tx *transaction, d Disqualification, m match.Summary) (entries []*entry, err error) {
	player, limit := "", 0
	if d.Player == "" {
		limit = m.Players + len(m.Teams)
	}
	hasSeat, err := scanOptional(tx.queryRow(ctx, selectOneSeat, d.Game, d.Match, d.Player), &player)
	if err != nil {
		return nil, err
	}
	if hasSeat {
		if entries, err = c.matchEntries(ctx, tx, d, player, int64(limit)); err != nil {
			return nil, err
		}
	}
	switch {
	case !hasSeat && d.Player != "":
		return nil, ErrNotFound
	case hasSeat && m.CountsForLeaderboards && len(entries) == 0:
		return nil, errors.New("the match counts, but the ledger has no entries for it")
	}
	return entries, nil // empty if the match did not count, or if only bots played
}

// matchEntries returns the match's entries within limit positions of the player's entry.
func (c *Corrections) matchEntries(ctx context.Context, tx *transaction, d Disqualification, player string, limit int64) ([]*entry, error) {
	var pos int64
	found, err := scanOptional(tx.queryRow(ctx, selectPlayerEntry, d.Game, player, d.Match), &pos)
	if err != nil || !found {
		return nil, err
	}
	var entries []*entry
	err = scanAll(func(rows *sql.Rows) error {
		e := &entry{matchID: d.Match}
		err := rows.Scan(append([]any{&e.Pos, &e.Day, &e.HolderKind, &e.Holder}, aggregatePointers(&e.Aggregates)...)...)
		if n := len(entries); n > 0 && entries[n-1].Pos == e.Pos {
			entries[n-1].Aggregates = entries[n-1].Aggregates.Add(e.Aggregates)
			return err
		}
		entries = append(entries, e)
		return err
	})(tx.query(ctx, selectMatchEntries, d.Game, d.Match, pos-limit, pos+limit))
	return entries, err
}

// writeCorrections adds corrections for the entries of a match that still count. All
// these entries belong to one day. It locks the game's head, and returns the tasks that
// report ended days.
func (c *Corrections) writeCorrections(ctx context.Context, tx *transaction, d Disqualification, m match.Summary) (result DisqualifyResult, tasks []taskqueue.NewTask, err error) {
	h, err := c.entries.lockHead(ctx, tx, d.Game)
	if err != nil {
		return result, nil, fmt.Errorf("head: %w", err)
	}
	entries, err := c.countedEntries(ctx, tx, d, m)
	if err != nil || len(entries) == 0 {
		return result, nil, err
	}
	corrections, err := c.newCorrections(ctx, tx, d.Game, entries)
	if err != nil || len(corrections) == 0 {
		return result, nil, err
	}
	h.add(corrections...)
	if err := c.entries.saveHead(ctx, tx, h); err != nil {
		return result, nil, err
	}
	if err := c.applyCorrections(ctx, tx, d.Game, corrections); err != nil {
		return result, nil, err
	}
	var reasons [][]any
	for _, correction := range corrections {
		reasons = append(reasons, []any{d.Game, correction.Pos, d.Reason, d.By})
	}
	if err := tx.bulk(ctx, insertCorrection, reasons, nil); err != nil {
		return result, nil, fmt.Errorf("reasons: %w", err)
	}
	return DisqualifyResult{len(corrections), corrections[0].Pos, h.pos}, c.entries.eventTasks(h), nil
}

// selectNewestRemaining selects the entries that were not corrected before. For each it also
// returns the position of the holder's newest other result that counts: of any day, and
// of the same day; 0 if there is none. The index of the holder is searched backwards.
var selectNewestRemaining = `
WITH v (game, pos, holder_kind, holder, day_from, day_to) AS ({rows})
SELECT v.pos, ` + newestEntrySQL(`true`) + `, ` + newestEntrySQL(`e.pos > v.day_from AND e.pos < v.day_to`) + `
FROM v WHERE NOT EXISTS (SELECT 1 FROM entries c WHERE c.game = v.game AND c.corrected_pos = v.pos AND c.corrected_pos > 0)
ORDER BY v.pos`

// newestEntrySQL returns a subquery for the position of the newest other result of v's holder
// that counts and meets a condition on e; 0 if there is none.
func newestEntrySQL(condition string) string {
	return `COALESCE((
    SELECT e.pos FROM entries e WHERE e.game = v.game AND e.holder_kind = v.holder_kind AND e.holder = v.holder AND e.pos <> v.pos
    AND ` + condition + ` AND ` + stillCounts + ` ORDER BY e.pos DESC LIMIT 1), 0)`
}

// newCorrections returns a correction for each of the entries that still counts. All
// entries belong to one day.
func (c *Corrections) newCorrections(ctx context.Context, tx *transaction, game string, entries []*entry) ([]*entry, error) {
	day, found, err := scanDay(tx.queryRow(ctx, selectDay, game, entries[0].Day))
	if err != nil || !found {
		return nil, cmp.Or(err, fmt.Errorf("the ledger has no row for the match's day %s", entries[0].Day))
	}
	byPos := make(map[int64]*entry, len(entries))
	var rows [][]any
	for _, e := range entries {
		byPos[e.Pos] = e
		rows = append(rows, []any{game, e.Pos, string(e.HolderKind), e.Holder, day.startPos, cmp.Or(day.nextDayPos, math.MaxInt64)})
	}
	var all []*entry
	err = tx.bulk(ctx, selectNewestRemaining, rows, func(r *sql.Rows) error {
		c := &entry{Row: leaderboard.Row{Kind: leaderboard.CorrectionRow}}
		if err := r.Scan(&c.correctedPos, &c.Newest, &c.NewestOfTargetDay); err != nil {
			return err
		}
		e := byPos[c.correctedPos]
		c.matchID, c.TargetDay, c.HolderKind, c.Holder, c.Aggregates = e.matchID, e.Day, e.HolderKind, e.Holder, negate(e.Aggregates)
		all = append(all, c)
		return nil
	})
	if err != nil {
		err = fmt.Errorf("remaining results: %w", err)
	}
	return all, err
}
