package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// fakeLedger is a ledger in memory. It also computes the expected contents of boards.
type fakeLedger struct {
	mu          sync.Mutex
	epoch       string
	rows        []Row
	correctedBy map[int64]int64 // position of a result → position of its correction
	hasNoSums   bool
	err         error
	rowsEver    int // number of rows added so far, also those rolled back: row ids never repeat
	erasures    []erasure
	cachedSums  cachedSums
}

// cachedSums caches the sums up to a position.
type cachedSums struct {
	upTo           int64
	rowsEver, rows int
	sums           []Sum
}

func newFakeLedger() *fakeLedger {
	b := &fakeLedger{epoch: "e", correctedBy: map[int64]int64{}}
	b.startDay("2026-11-20")
	return b
}

func (b *fakeLedger) addRow(r Row) Row {
	b.rowsEver++
	r.Pos, r.ID, r.CommittedAt = int64(len(b.rows)+1), fmt.Sprint("r", b.rowsEver), int64(1000+len(b.rows))
	if r.Kind != DayStartRow {
		r.Day = b.day()
	}
	b.rows = append(b.rows, r)
	return r
}

func (b *fakeLedger) day() string {
	if len(b.rows) == 0 {
		return ""
	}
	return b.rows[len(b.rows)-1].Day
}

func (b *fakeLedger) startDay(day string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addRow(Row{Kind: DayStartRow, Day: day})
}

func (b *fakeLedger) startDays(n int) {
	for range n {
		b.startDay(addDays(b.day(), 1))
	}
}

func (b *fakeLedger) addResult(kind Kind, holder string, score int64) Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.addRow(Row{Kind: ResultRow, HolderKind: kind, Holder: holder, Aggregates: Aggregates{
		Score: score, TimeMS: 100 + score, LimitMS: 1000, Matches: 1, Asked: 2, Answered: 2, Correct: score % 3,
	}})
}

// correct subtracts the result at a position. It returns false if there is none or it is
// corrected already.
func (b *fakeLedger) correct(pos int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	original := b.rows[pos-1]
	if original.Kind != ResultRow || b.correctedBy[pos] > 0 {
		return false
	}
	b.correctedBy[pos] = int64(len(b.rows) + 1)
	r := Row{Kind: CorrectionRow, HolderKind: original.HolderKind, Holder: original.Holder, Aggregates: Aggregates{}.Sub(original.Aggregates), TargetDay: original.Day}
	for _, other := range b.rows {
		if other.Kind != ResultRow || other.HolderKind != original.HolderKind || other.Holder != original.Holder || b.correctedBy[other.Pos] > 0 {
			continue
		}
		r.Newest = other.Pos
		if other.Day == original.Day {
			r.NewestOfTargetDay = other.Pos
		}
	}
	b.addRow(r)
	return true
}

// newestResult returns the position of a holder's newest uncorrected result of a day.
func (b *fakeLedger) newestResult(kind Kind, holder, day string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range slices.Backward(b.rows) {
		if r.Kind == ResultRow && r.HolderKind == kind && r.Holder == holder && r.Day == day && b.correctedBy[r.Pos] == 0 {
			return r.Pos
		}
	}
	return 1 // the first row, which is no result
}

// erasure is the renaming of a holder. The rows from firstPos to lastPos move the entries.
type erasure struct {
	from, to    string
	first, last int
	renamed     []int // indexes of the renamed rows
}

// erase gives the rows of a player another id, and adds rows that move the entries. If
// wiped is true, these rows do not have the former id.
func (b *fakeLedger) erase(from, to string, wiped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := erasure{from: from, to: to, first: len(b.rows) + 1}
	days := []string{b.day()}
	for i := range b.rows {
		if r := &b.rows[i]; r.HolderKind == Players && r.Holder == from {
			r.Holder = to
			e.renamed = append(e.renamed, i)
			days = append(days, r.Day)
		}
	}
	move := Row{Kind: MoveRow, HolderKind: Players, Holder: to, FormerHolder: from}
	if wiped {
		move.FormerHolder = ""
	}
	b.addRow(move)
	slices.Sort(days)
	for _, day := range days {
		if day > LastMovedDay(move.TargetDay) || move.TargetDay == "" {
			move.TargetDay = day
			b.addRow(move)
		}
	}
	e.last = len(b.rows)
	b.erasures = append(b.erasures, e)
	b.cachedSums = cachedSums{}
}

// undoErasures undoes the erasures that a rollback to a position removes. An erasure is
// one transaction, so it returns the position before the first of them.
func (b *fakeLedger) undoErasures(to int) int {
	for i, e := range slices.Backward(b.erasures) {
		if e.last <= to {
			break
		}
		to = min(to, e.first-1)
		for _, row := range e.renamed {
			b.rows[row].Holder = e.from
		}
		b.erasures = b.erasures[:i]
	}
	b.cachedSums = cachedSums{}
	return to
}

// rollBack removes the newest rows.
func (b *fakeLedger) rollBack(to int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	to = b.undoErasures(to)
	b.rows = b.rows[:to]
	maps.DeleteFunc(b.correctedBy, func(_, by int64) bool { return by > int64(to) })
}

func (b *fakeLedger) setError(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *fakeLedger) Epoch() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

func (b *fakeLedger) ReadRows(_ context.Context, _ string, after int64, limit int) ([]Row, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := min(int(after), len(b.rows))
	return slices.Clone(b.rows[from:min(from+limit, len(b.rows))]), b.err
}

func (b *fakeLedger) Snapshot(_ context.Context, _ string, work func(Snapshot) error) error {
	b.mu.Lock()
	s := Snapshot{Mark: Watermark{Epoch: b.epoch}}
	if n := len(b.rows); n > 0 {
		last := b.rows[n-1]
		s.Mark = Watermark{Epoch: b.epoch, Pos: last.Pos, RowID: last.ID, Day: last.Day}
		s.First = b.rows[0].Day
	}
	s.Sums = sequenceOf(b.sums(s.Mark.Pos))
	err := b.err
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return work(s)
}

func sequenceOf(sums []Sum) iter.Seq2[Sum, error] {
	return func(yield func(Sum, error) bool) {
		for _, s := range sums {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (b *fakeLedger) ReadHolders(_ context.Context, _ string, kind Kind, after string, limit int) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, r := range b.rows {
		if r.HolderKind == kind && r.Holder > after {
			all = append(all, r.Holder)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(limit, len(all))], b.err
}

func (b *fakeLedger) ReadSums(_ context.Context, _ string, upTo int64, kind Kind, holders []string) ([]Sum, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(b.sums(upTo), func(s Sum) bool {
		return s.HolderKind != kind || !slices.Contains(holders, s.Holder)
	}), b.err
}

func (b *fakeLedger) HasDaySums(context.Context, string, string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.hasNoSums, b.err
}

// sums returns the sums of each holder and day up to a position.
func (b *fakeLedger) sums(upTo int64) []Sum {
	if cache := b.cachedSums; cache.upTo != upTo || cache.rowsEver != b.rowsEver || cache.rows != len(b.rows) {
		b.cachedSums = cachedSums{upTo, b.rowsEver, len(b.rows), b.computeSums(upTo)}
	}
	return slices.Clone(b.cachedSums.sums)
}

func (b *fakeLedger) computeSums(upTo int64) []Sum {
	type key struct {
		whose       Kind
		holder, day string
	}
	sums := map[key]Sum{}
	for _, r := range b.rows[:upTo] {
		if by := b.correctedBy[r.Pos]; r.Kind != ResultRow || by > 0 && by <= upTo {
			continue
		}
		k := key{r.HolderKind, r.Holder, r.Day}
		s := sums[k]
		sums[k] = Sum{HolderKind: r.HolderKind, Holder: r.Holder, Day: r.Day, Newest: r.Pos, CommittedAt: r.CommittedAt, Aggregates: s.Aggregates.Add(r.Aggregates)}
	}
	return slices.SortedFunc(maps.Values(sums), func(x, y Sum) int {
		return cmp.Or(cmp.Compare(x.HolderKind, y.HolderKind), cmp.Compare(x.Holder, y.Holder), cmp.Compare(x.Day, y.Day))
	})
}

// expectedBoard returns the entries that a board of the given days should have at a
// position.
func (b *fakeLedger) expectedBoard(upTo int64, kind Kind, from, to string) map[string]BoardEntry {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := map[string]BoardEntry{}
	for _, s := range b.sums(upTo) {
		if s.HolderKind == kind && s.Day >= from && s.Day <= to {
			h := held[s.Holder]
			held[s.Holder] = BoardEntry{ID: s.Holder, Newest: max(h.Newest, s.Newest), Aggregates: h.Aggregates.Add(s.Aggregates)}
		}
	}
	return held
}
