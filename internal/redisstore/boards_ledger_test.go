package redisstore_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	lb "laststand/internal/leaderboard"
)

// ledger is a ledger in memory that can be rolled back.
type ledger struct {
	mu     sync.Mutex
	epoch  string
	rows   []ledgerRow
	day    string
	nextID int
}

// ledgerRow is a row of the ledger. correctedPos is the position of the corrected result; 0
// for rows that are no correction.
type ledgerRow struct {
	lb.Row
	correctedPos int64
}

const firstDay = "2026-11-20"

func newLedger() *ledger { return &ledger{epoch: "e1", day: firstDay} }

func (l *ledger) addPlayerResult(player string, aggregates lb.Aggregates) {
	l.addResult(lb.Players, player, aggregates)
}

func (l *ledger) addResult(kind lb.Kind, holder string, aggregates lb.Aggregates) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addRow(ledgerRow{Row: lb.Row{Kind: lb.ResultRow, HolderKind: kind, Holder: holder, Aggregates: aggregates}})
}

// correct adds a row that subtracts the result at a position. It does nothing if the position
// has no result, or one that is corrected already.
func (l *ledger) correct(pos int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	results := l.uncorrectedRows(int64(len(l.rows)))
	corrected, ok := results[pos]
	if !ok {
		return
	}
	delete(results, pos)
	row := lb.Row{Kind: lb.CorrectionRow, HolderKind: corrected.HolderKind, Holder: corrected.Holder, Aggregates: negated(corrected.Aggregates), TargetDay: corrected.Day}
	for _, other := range results {
		if other.HolderKind != row.HolderKind || other.Holder != row.Holder {
			continue
		}
		row.Newest = max(row.Newest, other.Pos)
		if other.Day == row.TargetDay {
			row.NewestOfTargetDay = max(row.NewestOfTargetDay, other.Pos)
		}
	}
	l.addRow(ledgerRow{Row: row, correctedPos: pos})
}

func negated(aggregates lb.Aggregates) lb.Aggregates {
	return lb.Aggregates{
		Score: -aggregates.Score, TimeMS: -aggregates.TimeMS, LimitMS: -aggregates.LimitMS, Matches: -aggregates.Matches,
		Asked: -aggregates.Asked, Answered: -aggregates.Answered, Correct: -aggregates.Correct,
	}
}

func (l *ledger) startDay() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.day = daysBefore(l.day, -1)
	l.addRow(ledgerRow{Row: lb.Row{Kind: lb.DayStartRow}})
}

func (l *ledger) addRow(row ledgerRow) {
	l.nextID++
	row.Pos, row.ID = int64(len(l.rows)+1), fmt.Sprintf("r%d", l.nextID)
	row.Day, row.CommittedAt = l.day, 1_000_000+int64(l.nextID)
	l.rows = append(l.rows, row)
}

// rollBack removes the rows after position n.
func (l *ledger) rollBack(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = l.rows[:n:n]
	l.day = firstDay
	if n > 0 {
		l.day = l.rows[n-1].Day
	}
}

// replaceLedger replaces the ledger by an empty one.
func (l *ledger) replaceLedger() {
	l.rollBack(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch += "'"
}

// uncorrectedRows returns the results up to a position that are not corrected up to it.
func (l *ledger) uncorrectedRows(upTo int64) map[int64]lb.Row {
	results := map[int64]lb.Row{}
	for _, row := range l.rows[:upTo] {
		switch row.Kind {
		case lb.ResultRow:
			results[row.Pos] = row.Row
		case lb.CorrectionRow:
			delete(results, row.correctedPos)
		}
	}
	return results
}

// rowsUpTo returns the rows up to a position.
func (l *ledger) rowsUpTo(pos int64) []ledgerRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows[:pos])
}

func (l *ledger) allRows() []ledgerRow {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

func (l *ledger) today() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.day
}

// watermark returns the watermark of a view that has applied all rows.
func (l *ledger) watermark() lb.Watermark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastWatermark()
}

func (l *ledger) lastWatermark() lb.Watermark {
	if len(l.rows) == 0 {
		return lb.Watermark{Epoch: l.epoch}
	}
	last := l.rows[len(l.rows)-1]
	return lb.Watermark{Epoch: l.epoch, Pos: last.Pos, RowID: last.ID, Day: last.Day}
}

// daysBefore returns the date some days earlier.
func daysBefore(date string, days int) string {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return day.AddDate(0, 0, -days).Format(time.DateOnly)
}

// The following methods implement leaderboard.Ledger and leaderboard.DaySumSource.

func (l *ledger) Epoch() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

func (l *ledger) ReadRows(_ context.Context, _ string, after int64, limit int) ([]lb.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := min(int(after), len(l.rows))
	var rows []lb.Row
	for _, row := range l.rows[from:min(from+limit, len(l.rows))] {
		rows = append(rows, row.Row)
	}
	return rows, nil
}

func (l *ledger) Snapshot(_ context.Context, _ string, work func(lb.Snapshot) error) error {
	l.mu.Lock()
	snapshot := lb.Snapshot{Watermark: l.lastWatermark()}
	if len(l.rows) > 0 {
		snapshot.FirstDay = l.rows[0].Day
	}
	sums := l.sums(int64(len(l.rows)))
	l.mu.Unlock()
	snapshot.Sums = func(yield func(lb.DaySum, error) bool) {
		for _, sum := range sums {
			if !yield(sum, nil) {
				return
			}
		}
	}
	return work(snapshot)
}

// sums returns the sum of each holder and day up to a position, in the order of a Snapshot.
func (l *ledger) sums(upTo int64) []lb.DaySum {
	sumsByKey := map[lb.DaySum]*lb.DaySum{}
	for _, row := range l.uncorrectedRows(upTo) {
		key := lb.DaySum{HolderKind: row.HolderKind, Holder: row.Holder, Day: row.Day}
		if sumsByKey[key] == nil {
			sumsByKey[key] = &lb.DaySum{HolderKind: row.HolderKind, Holder: row.Holder, Day: row.Day}
		}
		sum := sumsByKey[key]
		sum.Aggregates = sum.Aggregates.Add(row.Aggregates)
		if row.Pos > sum.Newest {
			sum.Newest, sum.CommittedAt = row.Pos, row.CommittedAt
		}
	}
	var sums []lb.DaySum
	for sum := range maps.Values(sumsByKey) {
		sums = append(sums, *sum)
	}
	slices.SortFunc(sums, func(a, b lb.DaySum) int {
		return cmp.Or(cmp.Compare(a.HolderKind, b.HolderKind), cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Day, b.Day))
	})
	return sums
}

func (l *ledger) ReadHolders(_ context.Context, _ string, kind lb.Kind, after string, limit int) ([]string, error) {
	var holders []string
	for _, row := range l.allRows() {
		if row.Kind == lb.ResultRow && row.HolderKind == kind && row.Holder > after {
			holders = append(holders, row.Holder)
		}
	}
	slices.Sort(holders)
	holders = slices.Compact(holders)
	return holders[:min(limit, len(holders))], nil
}

func (l *ledger) ReadSums(_ context.Context, _ string, upTo int64, kind lb.Kind, holders []string) ([]lb.DaySum, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(l.sums(upTo), func(sum lb.DaySum) bool {
		return sum.HolderKind != kind || !slices.Contains(holders, sum.Holder)
	}), nil
}

func (l *ledger) ReadMovingPlayers(context.Context, string, int64) ([]string, error) { return nil, nil }

func (l *ledger) HasDaySums(_ context.Context, _, day string) (bool, error) {
	return day < l.today(), nil
}

func (l *ledger) DayVersion(context.Context, string, string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.nextID), nil
}

func (l *ledger) ReadDaySums(_ context.Context, _, day string, kind lb.Kind, each func(lb.DaySum) error) error {
	l.mu.Lock()
	sums := l.sums(int64(len(l.rows)))
	l.mu.Unlock()
	for _, sum := range sums {
		if sum.Day != day || sum.HolderKind != kind {
			continue
		}
		if err := each(sum); err != nil {
			return err
		}
	}
	return nil
}
