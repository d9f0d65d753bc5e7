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
	rows   []entered
	day    string
	nextID int
}

// entered is a row, and of a correction the position of what it takes back.
type entered struct {
	lb.Row
	of int64
}

const firstDay = "2026-11-20"

func newLedger() *ledger { return &ledger{epoch: "e1", day: firstDay} }

func (l *ledger) result(player string, p lb.Parts) { l.give(lb.Players, player, p) }

func (l *ledger) give(whose lb.Kind, holder string, p lb.Parts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(entered{Row: lb.Row{Kind: lb.ResultRow, Whose: whose, Holder: holder, Parts: p}})
}

// correct takes the row at a position back, unless it is no result that counts.
func (l *ledger) correct(pos int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.counting(int64(len(l.rows)))
	wrong, ok := counts[pos]
	if !ok {
		return
	}
	delete(counts, pos)
	row := lb.Row{Kind: lb.CorrectionRow, Whose: wrong.Whose, Holder: wrong.Holder, Parts: negated(wrong.Parts), Of: wrong.Day}
	for _, r := range counts {
		if r.Whose != row.Whose || r.Holder != row.Holder {
			continue
		}
		row.Newest = max(row.Newest, r.Pos)
		if r.Day == row.Of {
			row.NewestOfThatDay = max(row.NewestOfThatDay, r.Pos)
		}
	}
	l.add(entered{Row: row, of: pos})
}

func negated(p lb.Parts) lb.Parts {
	return lb.Parts{
		Score: -p.Score, TimeMS: -p.TimeMS, LimitMS: -p.LimitMS, Matches: -p.Matches,
		Asked: -p.Asked, Answered: -p.Answered, Correct: -p.Correct,
	}
}

func (l *ledger) turn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.day = before(l.day, -1)
	l.add(entered{Row: lb.Row{Kind: lb.TurnRow}})
}

func (l *ledger) add(r entered) {
	l.nextID++
	r.Pos, r.ID = int64(len(l.rows)+1), fmt.Sprintf("r%d", l.nextID)
	r.Day, r.At = l.day, 1_000_000+int64(l.nextID)
	l.rows = append(l.rows, r)
}

// rollBack forgets the rows above n.
func (l *ledger) rollBack(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = l.rows[:n:n]
	l.day = firstDay
	if n > 0 {
		l.day = l.rows[n-1].Day
	}
}

// replace puts an empty ledger in this one's place.
func (l *ledger) replace() {
	l.rollBack(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch += "'"
}

// counting are the results up to a position that nothing up to it takes back.
func (l *ledger) counting(upTo int64) map[int64]lb.Row {
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

// upTo returns the rows up to a position.
func (l *ledger) upTo(pos int64) []entered {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows[:pos])
}

func (l *ledger) all() []entered {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.rows)
}

func (l *ledger) today() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.day
}

// mark is the watermark of a view that has applied everything.
func (l *ledger) mark() lb.Watermark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end()
}

func (l *ledger) end() lb.Watermark {
	if len(l.rows) == 0 {
		return lb.Watermark{Epoch: l.epoch}
	}
	last := l.rows[len(l.rows)-1]
	return lb.Watermark{Epoch: l.epoch, Pos: last.Pos, RowID: last.ID, Day: last.Day}
}

// before is a date some days earlier.
func before(date string, days int) string {
	d, err := time.Parse(time.DateOnly, date)
	if err != nil {
		panic(err)
	}
	return d.AddDate(0, 0, -days).Format(time.DateOnly)
}

// The rest is what the boards ask of a ledger.

func (l *ledger) Epoch() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

func (l *ledger) Rows(_ context.Context, _ string, after int64, limit int) ([]lb.Row, error) {
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
	s := lb.Snapshot{Mark: l.end()}
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
	for _, r := range l.counting(upTo) {
		key := lb.Sum{Whose: r.Whose, Holder: r.Holder, Day: r.Day}
		if of[key] == nil {
			of[key] = &lb.Sum{Whose: r.Whose, Holder: r.Holder, Day: r.Day}
		}
		sum := of[key]
		sum.Parts = sum.Parts.Add(r.Parts)
		if r.Pos > sum.Newest {
			sum.Newest, sum.At = r.Pos, r.At
		}
	}
	var sums []lb.Sum
	for sum := range maps.Values(of) {
		sums = append(sums, *sum)
	}
	slices.SortFunc(sums, func(a, b lb.Sum) int {
		return cmp.Or(cmp.Compare(a.Whose, b.Whose), cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Day, b.Day))
	})
	return sums
}

func (l *ledger) Holders(_ context.Context, _ string, whose lb.Kind, after string, limit int) ([]string, error) {
	var holders []string
	for _, r := range l.all() {
		if r.Kind == lb.ResultRow && r.Whose == whose && r.Holder > after {
			holders = append(holders, r.Holder)
		}
	}
	slices.Sort(holders)
	holders = slices.Compact(holders)
	return holders[:min(limit, len(holders))], nil
}

func (l *ledger) SumsOf(_ context.Context, _ string, upTo int64, whose lb.Kind, holders []string) ([]lb.Sum, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(l.sums(upTo), func(s lb.Sum) bool {
		return s.Whose != whose || !slices.Contains(holders, s.Holder)
	}), nil
}

func (l *ledger) Summed(_ context.Context, _, day string) (bool, error) { return day < l.today(), nil }

func (l *ledger) DayVersion(context.Context, string, string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(l.nextID), nil
}

func (l *ledger) DaySums(_ context.Context, _, day string, whose lb.Kind, each func(lb.Sum) error) error {
	l.mu.Lock()
	sums := l.sums(int64(len(l.rows)))
	l.mu.Unlock()
	for _, s := range sums {
		if s.Day != day || s.Whose != whose {
			continue
		}
		if err := each(s); err != nil {
			return err
		}
	}
	return nil
}
