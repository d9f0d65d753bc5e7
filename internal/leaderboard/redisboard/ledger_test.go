package redisboard_test

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

// ledgerRow is a row. A correction has the position of the corrected result.
type ledgerRow struct {
	lb.Row
	of int64
}

const firstDay = "2026-11-20"

func newLedger() *ledger { return &ledger{epoch: "e1", day: firstDay} }

func (l *ledger) result(player string, p lb.Aggregates) { l.addResult(lb.Players, player, p) }

func (l *ledger) addResult(kind lb.Kind, holder string, p lb.Aggregates) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(ledgerRow{Row: lb.Row{Kind: lb.ResultRow, HolderKind: kind, Holder: holder, Aggregates: p}})
}

// correct subtracts the result at a position, if there is one that is not corrected yet.
func (l *ledger) correct(pos int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.countedRows(int64(len(l.rows)))
	wrong, ok := counts[pos]
	if !ok {
		return
	}
	delete(counts, pos)
	row := lb.Row{Kind: lb.CorrectionRow, HolderKind: wrong.HolderKind, Holder: wrong.Holder, Aggregates: negated(wrong.Aggregates), TargetDay: wrong.Day}
	for _, r := range counts {
		if r.HolderKind != row.HolderKind || r.Holder != row.Holder {
			continue
		}
		row.Newest = max(row.Newest, r.Pos)
		if r.Day == row.TargetDay {
			row.NewestOfTargetDay = max(row.NewestOfTargetDay, r.Pos)
		}
	}
	l.add(ledgerRow{Row: row, of: pos})
}

func negated(p lb.Aggregates) lb.Aggregates {
	return lb.Aggregates{
		Score: -p.Score, TimeMS: -p.TimeMS, LimitMS: -p.LimitMS, Matches: -p.Matches,
		Asked: -p.Asked, Answered: -p.Answered, Correct: -p.Correct,
	}
}

func (l *ledger) startDay() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.day = before(l.day, -1)
	l.add(ledgerRow{Row: lb.Row{Kind: lb.DayStartRow}})
}

func (l *ledger) add(r ledgerRow) {
	l.nextID++
	r.Pos, r.ID = int64(len(l.rows)+1), fmt.Sprintf("r%d", l.nextID)
	r.Day, r.CommittedAt = l.day, 1_000_000+int64(l.nextID)
	l.rows = append(l.rows, r)
}

// rollBack removes the rows above n.
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

// countedRows returns the results up to a position that are not corrected up to it.
func (l *ledger) countedRows(upTo int64) map[int64]lb.Row {
	counts := map[int64]lb.Row{}
	for _, r := range l.rows[:upTo] {
		switch r.Kind {
		case lb.ResultRow:
			counts[r.Pos] = r.Row
		case lb.CorrectionRow:
			delete(counts, r.of)
		}
	}
	return counts
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

// watermark is the watermark of a view that has applied everything.
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

// before returns the date some days earlier.
func before(date string, days int) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return d.AddDate(0, 0, -days).Format(time.DateOnly)
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
	for _, r := range l.rows[from:min(from+limit, len(l.rows))] {
		rows = append(rows, r.Row)
	}
	return rows, nil
}

func (l *ledger) Snapshot(_ context.Context, _ string, work func(lb.Snapshot) error) error {
	l.mu.Lock()
	s := lb.Snapshot{Mark: l.lastWatermark()}
	if len(l.rows) > 0 {
		s.First = l.rows[0].Day
	}
	sums := l.sums(int64(len(l.rows)))
	l.mu.Unlock()
	s.Sums = func(yield func(lb.Sum, error) bool) {
		for _, sum := range sums {
			if !yield(sum, nil) {
				return
			}
		}
	}
	return work(s)
}

// sums are in the order of a Snapshot.
func (l *ledger) sums(upTo int64) []lb.Sum {
	of := map[lb.Sum]*lb.Sum{}
	for _, r := range l.countedRows(upTo) {
		key := lb.Sum{HolderKind: r.HolderKind, Holder: r.Holder, Day: r.Day}
		if of[key] == nil {
			of[key] = &lb.Sum{HolderKind: r.HolderKind, Holder: r.Holder, Day: r.Day}
		}
		sum := of[key]
		sum.Aggregates = sum.Aggregates.Add(r.Aggregates)
		if r.Pos > sum.Newest {
			sum.Newest, sum.CommittedAt = r.Pos, r.CommittedAt
		}
	}
	var sums []lb.Sum
	for sum := range maps.Values(of) {
		sums = append(sums, *sum)
	}
	slices.SortFunc(sums, func(a, b lb.Sum) int {
		return cmp.Or(cmp.Compare(a.HolderKind, b.HolderKind), cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Day, b.Day))
	})
	return sums
}

func (l *ledger) ReadHolders(_ context.Context, _ string, kind lb.Kind, after string, limit int) ([]string, error) {
	var holders []string
	for _, r := range l.allRows() {
		if r.Kind == lb.ResultRow && r.HolderKind == kind && r.Holder > after {
			holders = append(holders, r.Holder)
		}
	}
	slices.Sort(holders)
	holders = slices.Compact(holders)
	return holders[:min(limit, len(holders))], nil
}

func (l *ledger) ReadSums(_ context.Context, _ string, upTo int64, kind lb.Kind, holders []string) ([]lb.Sum, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(l.sums(upTo), func(s lb.Sum) bool {
		return s.HolderKind != kind || !slices.Contains(holders, s.Holder)
	}), nil
}

func (l *ledger) HasDaySums(_ context.Context, _, day string) (bool, error) {
	return day < l.today(), nil
}

func (l *ledger) DayVersion(context.Context, string, string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.nextID), nil
}

func (l *ledger) ReadDaySums(_ context.Context, _, day string, kind lb.Kind, each func(lb.Sum) error) error {
	l.mu.Lock()
	sums := l.sums(int64(len(l.rows)))
	l.mu.Unlock()
	for _, s := range sums {
		if s.Day != day || s.HolderKind != kind {
			continue
		}
		if err := each(s); err != nil {
			return err
		}
	}
	return nil
}
