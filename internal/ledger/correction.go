package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
)

// Corrections makes results of settled matches not count.
type Corrections struct {
	*database
	entries *entryWriter
	history *History
}

// Disqualification says which results to correct, with the reason and the operator.
type Disqualification struct {
	Game, Match string
	Player      string // "": all players and teams of the match
	Reason, By  string
}

// Disqualify makes the results of a player in a match not count, or those of all players
// and teams. It adds corrections to the game's current day and updates totals and sums.
// Leaderboards change when they apply the corrections. Results that were corrected
// before do not change. The match's record, history and ratings stay. It returns the number of
// corrections, which is 0 if the match did not count, or if everything was corrected before.
//
// match.ErrNotFound means that the game has no such match, or the match no such player.
func (c *Corrections) Disqualify(ctx context.Context, d Disqualification) (count int, err error) {
	m, err := c.history.readSummary(ctx, d.Game, d.Match)
	if err == nil {
		err = c.inTx(ctx, func(tx *transaction) (err error) {
			count, err = c.disqualify(ctx, tx, d, m)
			return err
		})
	}
	return count, err
}

var insertCorrection = insertRows("corrections", "game, pos, reason, corrected_by")

// disqualify adds corrections for the entries of a match that still count, under the lock on the
// game's head. It enqueues the tasks that report ended days.
func (c *Corrections) disqualify(ctx context.Context, tx *transaction, d Disqualification, m match.Summary) (count int, err error) {
	h, err := c.entries.lockHead(ctx, tx, d.Game)
	if err != nil {
		return 0, err
	}
	corrections, err := newCorrections(ctx, tx, d, m)
	if err != nil || len(corrections) == 0 {
		return 0, err
	}
	h.add(corrections...)
	h.save(ctx, tx)
	applyCorrections(ctx, tx, d.Game, corrections)
	var reasons [][]any
	for _, correction := range corrections {
		reasons = append(reasons, []any{d.Game, correction.Pos, d.Reason, d.By})
	}
	tx.bulk(ctx, insertCorrection, reasons, nil)
	return len(corrections), enqueueAll(ctx, tx, c.entries.eventTasks(h))
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
// or of d.Player. It returns none if the match did not count, or if only bots played. It finds
// them near the entry of one player. The caller holds the lock on the game's head, so no erasure
// renames them at the same time.
func countedEntries(ctx context.Context, tx *transaction, d Disqualification, m match.Summary) (entries []*entry, err error) {
	player, limit, pos := "", int64(0), int64(0)
	if d.Player == "" {
		limit = int64(m.Players + len(m.Teams))
	}
	hasSeat := tx.get(ctx, into(&player), selectOneSeat, d.Game, d.Match, d.Player)
	if hasSeat && tx.get(ctx, into(&pos), selectPlayerEntry, d.Game, player, d.Match) {
		tx.each(ctx, func(rows *sql.Rows) error {
			e := &entry{matchID: d.Match}
			err := rows.Scan(append(into(&e.Pos, &e.Day, &e.HolderKind, &e.Holder), aggregatePointers(&e.Aggregates)...)...)
			if n := len(entries); n > 0 && entries[n-1].Pos == e.Pos {
				entries[n-1].Aggregates = entries[n-1].Aggregates.Add(e.Aggregates)
				return err
			}
			entries = append(entries, e)
			return err
		}, selectMatchEntries, d.Game, d.Match, pos-limit, pos+limit)
	}
	switch {
	case tx.err != nil:
		return nil, tx.err
	case !hasSeat && d.Player != "":
		return nil, match.ErrNotFound
	case hasSeat && m.CountsForLeaderboards && len(entries) == 0:
		return nil, errors.New("the match counts, but the ledger has no entries for it")
	}
	return entries, nil
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

// newCorrections returns a correction for each of the counted entries of a match that still
// counts: see countedEntries. All entries of a match belong to one day.
func newCorrections(ctx context.Context, tx *transaction, d Disqualification, m match.Summary) (all []*entry, err error) {
	entries, err := countedEntries(ctx, tx, d, m)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	var day ledgerDay
	if !tx.get(ctx, day.pointers(), selectDay, d.Game, entries[0].Day) {
		return nil, fmt.Errorf("the ledger has no row for the match's day %s", entries[0].Day)
	}
	byPos := make(map[int64]*entry, len(entries))
	var rows [][]any
	for _, e := range entries {
		byPos[e.Pos] = e
		rows = append(rows, []any{d.Game, e.Pos, string(e.HolderKind), e.Holder, day.startPos, cmp.Or(day.nextDayPos, math.MaxInt64)})
	}
	var pos, newest, newestOfDay int64
	tx.bulk(ctx, selectNewestRemaining, rows, eachRow(func() {
		e := byPos[pos]
		all = append(all, &entry{matchID: e.matchID, correctedPos: pos, Row: leaderboard.Row{
			Kind: leaderboard.CorrectionRow, Newest: newest, NewestOfTargetDay: newestOfDay,
			TargetDay: e.Day, HolderKind: e.HolderKind, Holder: e.Holder, Aggregates: negate(e.Aggregates),
		}})
	}, &pos, &newest, &newestOfDay))
	return all, tx.err
}

const (
	// updateDayVersion locks the day: see updateSummedTo.
	updateDayVersion = `UPDATE days SET version = $3 WHERE game = $1 AND day = $2 RETURNING summed_to`

	deleteEmptySums = `
WITH v (game, holder_kind, holder, day) AS ({rows})
DELETE FROM day_sums WHERE (game, holder_kind, holder, day) IN (SELECT game, holder_kind, holder, day FROM v) AND matches = 0`
)

var correctSums = `
WITH v (game, holder_kind, holder, day, newest, ` + aggregateColumns + `) AS ({rows})
UPDATE day_sums SET
    newest = v.newest,
    committed_at = COALESCE((SELECT e.committed_at FROM entries e WHERE e.game = v.game AND e.pos = v.newest), day_sums.committed_at),
    ` + eachAggregate("@ = day_sums.@ + v.@") + `
FROM v WHERE day_sums.game = v.game AND day_sums.holder_kind = v.holder_kind AND day_sums.holder = v.holder AND day_sums.day = v.day`

// applyCorrections writes what follows from corrections of one day: the players' totals, and
// the day's sums if there are any.
func applyCorrections(ctx context.Context, tx *transaction, game string, corrections []*entry) {
	day := corrections[0].TargetDay
	var summedTo int64
	tx.get(ctx, into(&summedTo), updateDayVersion, game, day, rand.Int64()) //nolint:gosec // a version is no secret
	var players, sums, keys [][]any
	for _, c := range corrections {
		if c.HolderKind == leaderboard.Players {
			players = append(players, (&playerChange{aggregates: c.Aggregates}).row(game, c.Holder))
		}
		key := []any{game, string(c.HolderKind), c.Holder, day}
		keys = append(keys, key)
		var sumChange leaderboard.Aggregates
		if max(c.correctedPos, c.adjustedPos) <= summedTo {
			sumChange = c.Aggregates
		}
		sums = append(sums, append(append(key[:4:4], c.NewestOfTargetDay), aggregateValues(sumChange)...))
	}
	tx.bulk(ctx, updatePlayer, players, nil)
	tx.bulk(ctx, correctSums, sums, nil)
	tx.bulk(ctx, deleteEmptySums, keys, nil)
}
