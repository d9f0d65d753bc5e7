package ledger

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"strings"

	"laststand/internal/leaderboard"
)

var _ leaderboard.Ledger = (*Leaderboards)(nil)

// isResult and isCancelled are SQL conditions on the entry e: it is a result; a correction
// has cancelled the result at {pos}.
const (
	isResult    = `e.kind = 'result'`
	isCancelled = `EXISTS (SELECT 1 FROM entries c WHERE c.game = e.game AND c.corrected_pos = {pos} AND c.corrected_pos > 0)`
)

// stillCounts is the SQL condition that the entry e is a result that was not cancelled.
var stillCounts = isResult + ` AND NOT ` + strings.ReplaceAll(isCancelled, "{pos}", "e.pos")

// bothParts returns the UNION ALL of a SELECT for the two parts of results: the entries of
// results, and the corrections that change their values. In the SELECT, {part} is the
// condition that the entry e is such a part. {pos} and {day} are the position and the day
// of the result.
func bothParts(text string) string {
	results := strings.NewReplacer("{part}", isResult, "{pos}", "e.pos", "{day}", "e.day")
	changes := strings.NewReplacer("{part}", "e.adjusted_pos > 0", "{pos}", "e.adjusted_pos", "{day}", "e.target_day")
	return results.Replace(text) + ` UNION ALL ` + changes.Replace(text)
}

// sumColumns are the columns of a leaderboard.Sum, in the order of scanSum.
const sumColumns = `holder_kind, holder, day, newest, committed_at, ` + aggregateColumns

// sumsTemplate is a SELECT that sums {parts} by holder and day.
var sumsTemplate = `
SELECT g.holder_kind, g.holder, g.day, g.newest, n.committed_at, ` + eachAggregate("g.@") + ` FROM (
    SELECT parts.game, parts.holder_kind, parts.holder, parts.day, MAX(parts.pos) AS newest, ` + eachAggregate("CAST(SUM(parts.@) AS BIGINT) AS @") + `
    FROM ({parts}) parts GROUP BY parts.game, parts.holder_kind, parts.holder, parts.day
) g JOIN entries n ON n.game = g.game AND n.pos = g.newest`

// sumsFrom returns a SELECT of the sums of results. from follows FROM, and selects the
// entries e: see bothParts.
func sumsFrom(from string) string {
	parts := bothParts(`SELECT e.game, e.holder_kind, e.holder, {day} AS day, {pos} AS pos, ` + eachAggregate("e.@") + ` FROM ` + from)
	return strings.ReplaceAll(sumsTemplate, "{parts}", parts)
}

// counted is the SQL condition that the entry e is a part of a result that was not cancelled.
const counted = `{part} AND NOT ` + isCancelled

const (
	orderByBytes = ` ORDER BY 1, 2, 3` // whose, holder, day: see dialect.byteOrder

	selectFirstUnsummed = `SELECT day, start_pos FROM days WHERE game = $1 AND summed = 0 ORDER BY day LIMIT 1`
)

// selectSums returns all sums of a game. Days are summed in order. So table sums has the
// days before the first unsummed one ($2), and the entries after its position ($3) are
// added here. The concatenation of day with an empty text prevents the database from
// using an index by day, which would need a sort; the primary key has the order already.
var selectSums = `SELECT ` + sumColumns + ` FROM day_sums WHERE game = $1 AND day || '' < $2 UNION ALL` +
	sumsFrom(`entries e WHERE e.game = $1 AND {pos} > $3 AND `+counted) + orderByBytes

const selectHead = `
SELECT h.pos, h.day, h.first_day, e.id FROM ledger_heads h JOIN entries e ON e.game = h.game AND e.pos = h.pos WHERE h.game = $1`

// scanHead scans a row of selectHead. It also returns the game's first day. Without a row
// the game has no entries, and both are empty except for the epoch.
func (b *Leaderboards) scanHead(row *sql.Row) (head leaderboard.Watermark, firstDay string, err error) {
	head.Epoch = b.Epoch()
	_, err = scanOptional(row, &head.Pos, &head.Day, &firstDay, &head.RowID)
	return head, firstDay, err
}

// Snapshot calls work with a game's ledger as it is at one moment. The sums are read as
// work iterates over them. If that fails, the last pair of the iteration has the error.
// The snapshot is valid only until work returns.
func (b *Leaderboards) Snapshot(ctx context.Context, game string, work func(leaderboard.Snapshot) error) (err error) {
	defer describe(&err, "snapshot of %s", game)
	err = b.inSnapshot(ctx, func(tx *transaction) error {
		mark, firstDay, err := b.scanHead(tx.queryRow(ctx, selectHead, game))
		if err != nil {
			return err
		}
		var day string
		var pos int64
		if _, err := scanOptional(tx.queryRow(ctx, selectFirstUnsummed, game), &day, &pos); err != nil {
			return err
		}
		return work(leaderboard.Snapshot{Watermark: mark, FirstDay: firstDay, Sums: querySums(ctx, tx, selectSums, game, day, pos)})
	})
	return err
}

// querySums iterates over the rows of a query that returns sumColumns. After an error it
// stops.
func querySums(ctx context.Context, tx *transaction, query string, args ...any) iter.Seq2[leaderboard.DaySum, error] {
	return func(yield func(leaderboard.DaySum, error) bool) {
		rows, err := tx.query(ctx, query, args...)
		if err != nil {
			yield(leaderboard.DaySum{}, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			s, err := scanSum(rows)
			if !yield(s, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(leaderboard.DaySum{}, err)
		}
	}
}

func scanSum(rows *sql.Rows) (s leaderboard.DaySum, err error) {
	err = rows.Scan(append([]any{&s.HolderKind, &s.Holder, &s.Day, &s.Newest, &s.CommittedAt}, aggregatePointers(&s.Aggregates)...)...)
	return s, err
}

const selectHolders = `
WITH RECURSIVE h (holder) AS (
    SELECT MIN(holder) FROM entries WHERE game = $1 AND holder_kind = $2 AND holder > $3
    UNION ALL
    SELECT (SELECT MIN(e.holder) FROM entries e WHERE e.game = $1 AND e.holder_kind = $2 AND e.holder > h.holder) FROM h WHERE h.holder IS NOT NULL
) SELECT holder FROM h WHERE holder IS NOT NULL LIMIT $4`

// ReadHolders implements leaderboard.Ledger.
func (b *Leaderboards) ReadHolders(ctx context.Context, game string, kind leaderboard.Kind, after string, limit int) (_ []string, err error) {
	defer describe(&err, "holders of %s", game)
	all, err := collect(func(id *string) []any { return []any{id} })(b.query(ctx, selectHolders, game, string(kind), after, limit))
	return all, err
}

// selectSumsUpTo sums as if up_to were the last position: it also ignores corrections
// after that.
var selectSumsUpTo = `
WITH v (game, holder_kind, holder, up_to) AS ({rows})` + sumsFrom(`v JOIN entries e
    ON e.game = v.game AND e.holder_kind = v.holder_kind AND e.holder = v.holder AND e.pos <= v.up_to
    WHERE {part} AND NOT EXISTS (
        SELECT 1 FROM entries c WHERE c.game = e.game AND c.corrected_pos = {pos} AND c.corrected_pos > 0 AND c.pos <= v.up_to)`) + orderByBytes

// ReadSums implements leaderboard.Ledger.
func (b *Leaderboards) ReadSums(ctx context.Context, game string, upTo int64, kind leaderboard.Kind, holders []string) (_ []leaderboard.DaySum, err error) {
	defer describe(&err, "sums of %d holders of %s", len(holders), game)
	var all []leaderboard.DaySum
	var rows [][]any
	for _, id := range slices.Compact(slices.Sorted(slices.Values(holders))) {
		rows = append(rows, []any{game, string(kind), id, upTo})
	}
	err = b.inSnapshot(ctx, func(tx *transaction) error {
		return tx.bulk(ctx, selectSumsUpTo, rows, func(r *sql.Rows) error {
			s, err := scanSum(r)
			all = append(all, s)
			return err
		})
	})
	return all, err
}

const selectMoving = `SELECT subject, opaque_id FROM erasures WHERE game = $1 AND last_move_pos > $2`

// ReadMovingPlayers implements leaderboard.Ledger.
func (b *Leaderboards) ReadMovingPlayers(ctx context.Context, game string, upTo int64) (ids []string, err error) {
	defer describe(&err, "erasures of %s", game)
	err = scanAll(func(rows *sql.Rows) error {
		var subject, opaque string
		err := rows.Scan(&subject, &opaque)
		ids = append(ids, subject, opaque)
		return err
	})(b.query(ctx, selectMoving, game, upTo))
	return ids, err
}
