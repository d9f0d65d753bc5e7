package ledger

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"laststand/internal/leaderboard"
)

var _ leaderboard.Ledger = (*Leaderboards)(nil)

// Leaderboards reads what leaderboards are computed from: entries, and sums of days.
type Leaderboards struct{ *database }

// selectEntries also selects the former id of the holder of a move entry, if the ledger
// still has it (see ErasureRetention).
const selectEntries = `
SELECT pos, id, kind, day, committed_at, holder_kind, holder, target_day, newest, newest_of_target_day, CASE WHEN kind = 'move' THEN COALESCE((
    SELECT e.subject FROM erasures e WHERE e.game = $1 AND e.opaque_id = entries.holder LIMIT 1), '') ELSE '' END, ` + aggregateColumns + `
FROM entries WHERE game = $1 AND pos > $2 ORDER BY pos LIMIT $3`

// ReadRows implements leaderboard.Ledger.
func (b *Leaderboards) ReadRows(ctx context.Context, game string, after int64, limit int) ([]leaderboard.Row, error) {
	return list(ctx, b.database, func(r *leaderboard.Row) []any {
		return append([]any{&r.Pos, &r.ID, &r.Kind, &r.Day, &r.CommittedAt, &r.HolderKind, &r.Holder,
			&r.TargetDay, &r.Newest, &r.NewestOfTargetDay, &r.FormerHolder}, aggregatePointers(&r.Aggregates)...)
	}, selectEntries, game, after, limit)
}

const orderByBytes = ` ORDER BY 1, 2, 3` // whose, holder, day: see dialect.byteOrder

// selectSums returns all sums of a game. Days are summed in order. So table day_sums has the
// days before the first unsummed one ($2), and the entries after its position ($3) are
// added here. The concatenation of day with an empty text prevents the database from
// using an index by day, which would need a sort; the primary key has the order already.
var selectSums = `SELECT ` + sumColumns + ` FROM day_sums WHERE game = $1 AND day || '' < $2 UNION ALL` +
	sumsFrom(`entries e WHERE e.game = $1 AND {pos} > $3 AND `+counted) + orderByBytes

// Snapshot calls work with a game's ledger as it is at one moment. The sums are read as
// work iterates over them. If that fails, the last pair of the iteration has the error.
// The snapshot is valid only until work returns.
func (b *Leaderboards) Snapshot(ctx context.Context, game string, work func(leaderboard.Snapshot) error) error {
	return b.inSnapshot(ctx, func(tx *transaction) error {
		mark, firstDay := readHeadMark(ctx, tx, game)
		var day string
		var pos int64
		tx.get(ctx, into(&day, &pos), `SELECT day, start_pos FROM days WHERE game = $1 AND summed = 0 ORDER BY day LIMIT 1`, game)
		if tx.err != nil {
			return tx.err
		}
		return work(leaderboard.Snapshot{Watermark: mark, FirstDay: firstDay, Sums: queryRows(ctx, tx, sumPointers, selectSums, game, day, pos)})
	})
}

// readHeadMark returns a game's watermark and first day. Without entries, both are empty except for
// the epoch.
func readHeadMark(ctx context.Context, tx *transaction, game string) (mark leaderboard.Watermark, firstDay string) {
	mark.Epoch = tx.db.Epoch()
	tx.get(ctx, into(&mark.Pos, &mark.Day, &firstDay, &mark.RowID), `
SELECT h.pos, h.day, h.first_day, e.id FROM ledger_heads h JOIN entries e ON e.game = h.game AND e.pos = h.pos WHERE h.game = $1`, game)
	return mark, firstDay
}

func sumPointers(s *leaderboard.DaySum) []any {
	return append([]any{&s.HolderKind, &s.Holder, &s.Day, &s.Newest, &s.CommittedAt}, aggregatePointers(&s.Aggregates)...)
}

// ReadHolders implements leaderboard.Ledger.
func (b *Leaderboards) ReadHolders(ctx context.Context, game string, kind leaderboard.Kind, after string, limit int) ([]string, error) {
	return list(ctx, b.database, itself[string], `
WITH RECURSIVE h (holder) AS (
    SELECT MIN(holder) FROM entries WHERE game = $1 AND holder_kind = $2 AND holder > $3
    UNION ALL
    SELECT (SELECT MIN(e.holder) FROM entries e WHERE e.game = $1 AND e.holder_kind = $2 AND e.holder > h.holder) FROM h WHERE h.holder IS NOT NULL
) SELECT holder FROM h WHERE holder IS NOT NULL LIMIT $4`, game, string(kind), after, limit)
}

// selectSumsUpTo sums as if up_to were the last position: it also ignores corrections
// after that.
var selectSumsUpTo = `
WITH v (game, holder_kind, holder, up_to) AS ({rows})` + sumsFrom(`v JOIN entries e
    ON e.game = v.game AND e.holder_kind = v.holder_kind AND e.holder = v.holder AND e.pos <= v.up_to
    WHERE {part} AND NOT EXISTS (
        SELECT 1 FROM entries c WHERE c.game = e.game AND c.corrected_pos = {pos} AND c.corrected_pos > 0 AND c.pos <= v.up_to)`) + orderByBytes

// ReadSums implements leaderboard.Ledger.
func (b *Leaderboards) ReadSums(ctx context.Context, game string, upTo int64, kind leaderboard.Kind, holders []string) (all []leaderboard.DaySum, err error) {
	var rows [][]any
	for _, id := range slices.Compact(slices.Sorted(slices.Values(holders))) {
		rows = append(rows, []any{game, string(kind), id, upTo})
	}
	err = b.readBulk(ctx, selectSumsUpTo, rows, appendTo(&all, sumPointers))
	return all, err
}

// ReadMovingPlayers implements leaderboard.Ledger.
func (b *Leaderboards) ReadMovingPlayers(ctx context.Context, game string, upTo int64) (ids []string, err error) {
	var subject, opaque string
	err = b.each(ctx, eachRow(func() { ids = append(ids, subject, opaque) }, &subject, &opaque),
		`SELECT subject, opaque_id FROM erasures WHERE game = $1 AND last_move_pos > $2`, game, upTo)
	return ids, err
}

const (
	selectDayWhere = `
SELECT d.game, d.day, d.start_pos, d.summed, d.summed_to,
    COALESCE((SELECT n.start_pos FROM days n WHERE n.game = d.game AND n.day > d.day ORDER BY n.day LIMIT 1), 0)
FROM days d WHERE d.game = $1 AND `
	selectDay      = selectDayWhere + `d.day = $2`
	selectUnsummed = selectDayWhere + `d.summed = 0 ORDER BY d.day LIMIT 1`

	selectDaySums = `
SELECT ` + sumColumns + ` FROM day_sums WHERE game = $1 AND day = $2 AND holder_kind = $3` + orderByBytes
)

var computeDaySums = sumsFrom(`entries e WHERE e.game = $1 AND {pos} > $2 AND ({pos} < $3 OR $3 = 0) AND e.holder_kind = $4 AND `+counted) + orderByBytes

// ledgerDay is a row of table days. Its entries are after startPos and before nextDayPos,
// which is 0 for the current day. summed is 1 if all its entries are in table day_sums, else
// 0. Entries up to summedTo are in day_sums already.
type ledgerDay struct {
	game, day                              string
	startPos, summed, summedTo, nextDayPos int64
}

// pointers returns the pointers for a row of selectDay or selectUnsummed.
func (d *ledgerDay) pointers() []any {
	return into(&d.game, &d.day, &d.startPos, &d.summed, &d.summedTo, &d.nextDayPos)
}

// HasDaySums implements leaderboard.Ledger.
func (b *Leaderboards) HasDaySums(ctx context.Context, game, day string) (bool, error) {
	var d ledgerDay
	_, err := b.get(ctx, d.pointers(), selectDay, game, day)
	return d.summed == 1, err
}

// DayVersion returns a number that changes with every correction of a day. It also
// changes if the database is restored to an earlier state and the day ends again. While
// the number is the same, the content of a past day is the same. It is 0 for a day that
// the game has not had.
func (b *Leaderboards) DayVersion(ctx context.Context, game, day string) (version int64, err error) {
	var nextDayID string // id of the row that starts the next day
	found, err := b.get(ctx, into(&version, &nextDayID), `
SELECT d.version, COALESCE((
    SELECT e.id FROM days n JOIN entries e ON e.game = n.game AND e.pos = n.start_pos
    WHERE n.game = d.game AND n.day > d.day ORDER BY n.day LIMIT 1), '')
FROM days d WHERE d.game = $1 AND d.day = $2`, game, day)
	if err != nil || !found {
		return 0, err
	}
	hash := fnv.New64a()
	fmt.Fprint(hash, version, " ", nextDayID)
	return int64(hash.Sum64()), nil
}

// ReadDaySums calls onSum with the sum of every holder of a kind on a day, in ascending
// byte order of ids. It stops at the first error of onSum and returns it. If the day is
// not summed yet, it computes the sums from the day's entries.
func (b *Leaderboards) ReadDaySums(ctx context.Context, game, day string, kind leaderboard.Kind, onSum func(leaderboard.DaySum) error) error {
	return b.inSnapshot(ctx, func(tx *transaction) error {
		var d ledgerDay
		if !tx.get(ctx, d.pointers(), selectDay, game, day) {
			return nil
		}
		sums := queryRows(ctx, tx, sumPointers, selectDaySums, game, day, string(kind))
		if d.summed == 0 {
			sums = queryRows(ctx, tx, sumPointers, computeDaySums, game, d.startPos, d.nextDayPos, string(kind))
		}
		for s, err := range sums {
			if err == nil {
				err = onSum(s)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
