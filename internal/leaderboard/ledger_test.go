package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
)

// fakeLedger is a Ledger and a DaySumSource in memory. It also computes the expected contents of boards.
type fakeLedger struct {
	mu          sync.Mutex
	epoch       string
	rows        []Row
	correctedBy map[int64]int64 // position of a result → position of its correction
	hasNoSums   bool
	err         error
	addedRows   int // number of rows added so far, also those rolled back: row ids never repeat
	erasures    []erasure
	cachedSums  cachedSums

	versions      map[string]int64 // by day
	reads         int              // number of calls of ReadDaySums
	beforeEachSum func()           // called before each sum of a Snapshot; may be nil
}

// cachedSums caches the sums up to a position.
type cachedSums struct {
	upTo            int64
	addedRows, rows int
	sums            []DaySum
}

func newFakeLedger() *fakeLedger {
	ledger := &fakeLedger{epoch: "e", correctedBy: map[int64]int64{}, versions: map[string]int64{}}
	ledger.startDay("2026-11-20")
	return ledger
}

func (l *fakeLedger) addRow(row Row) Row {
	l.addedRows++
	row.Pos, row.ID, row.CommittedAt = int64(len(l.rows)+1), fmt.Sprint("r", l.addedRows), int64(1000+len(l.rows))
	if row.Kind != DayStartRow {
		row.Day = l.day()
	}
	l.rows = append(l.rows, row)
	return row
}

func (l *fakeLedger) day() string {
	if len(l.rows) == 0 {
		return ""
	}
	return l.rows[len(l.rows)-1].Day
}

func (l *fakeLedger) startDay(day string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addRow(Row{Kind: DayStartRow, Day: day})
}

func (l *fakeLedger) startDays(n int) {
	for range n {
		l.startDay(addDays(l.day(), 1))
	}
}

func (l *fakeLedger) addResult(kind Kind, holder string, score int64) Row {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addRow(Row{Kind: ResultRow, HolderKind: kind, Holder: holder, Aggregates: Aggregates{
		Score: score, TimeMS: 100 + score, LimitMS: 1000, Matches: 1, Asked: 2, Answered: 2, Correct: score % 3,
	}})
}

// correct adds a row that subtracts the result at a position. It returns false if the row at
// the position is no result, or if the result is corrected already.
func (l *fakeLedger) correct(pos int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	original := l.rows[pos-1]
	if original.Kind != ResultRow || l.correctedBy[pos] > 0 {
		return false
	}
	l.correctedBy[pos] = int64(len(l.rows) + 1)
	row := Row{Kind: CorrectionRow, HolderKind: original.HolderKind, Holder: original.Holder, Aggregates: Aggregates{}.Sub(original.Aggregates), TargetDay: original.Day}
	for _, other := range l.rows {
		if other.Kind != ResultRow || other.HolderKind != original.HolderKind || other.Holder != original.Holder || l.correctedBy[other.Pos] > 0 {
			continue
		}
		row.Newest = other.Pos
		if other.Day == original.Day {
			row.NewestOfTargetDay = other.Pos
		}
	}
	l.addRow(row)
	l.versions[original.Day]++
	return true
}

// newestResult returns the position of a holder's newest uncorrected result of a day.
func (l *fakeLedger) newestResult(kind Kind, holder, day string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range slices.Backward(l.rows) {
		if row.Kind == ResultRow && row.HolderKind == kind && row.Holder == holder && row.Day == day && l.correctedBy[row.Pos] == 0 {
			return row.Pos
		}
	}
	return 1 // the first row, which starts a day and is no result
}

// erasure is the replacement of a player's id by an opaque one. The rows from firstPos to
// lastPos move the entries.
type erasure struct {
	formerID, newID   string
	firstPos, lastPos int
	renamedRows       []int // indexes of the renamed rows
}

// erase gives the rows of a player another id, and adds rows that move the player's entries.
// If wiped is true, the added rows do not have the former id.
func (l *fakeLedger) erase(formerID, newID string, wiped bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erasures = slices.DeleteFunc(l.erasures, func(begun erasure) bool { // erase continues it
		isSame := begun.formerID == formerID && begun.lastPos == math.MaxInt
		for _, i := range begun.renamedRows {
			if isSame {
				l.rows[i].Holder = formerID
			}
		}
		return isSame
	})
	renaming := erasure{formerID: formerID, newID: newID, firstPos: len(l.rows) + 1}
	days := []string{l.day()}
	for i := range l.rows {
		if row := &l.rows[i]; row.HolderKind == Players && row.Holder == formerID {
			row.Holder = newID
			renaming.renamedRows = append(renaming.renamedRows, i)
			days = append(days, row.Day)
		}
	}
	move := Row{Kind: MoveRow, HolderKind: Players, Holder: newID, FormerHolder: formerID}
	if wiped {
		move.FormerHolder = ""
	}
	l.addRow(move)
	slices.Sort(days)
	for _, day := range days {
		if day > LastMovedDay(move.TargetDay) || move.TargetDay == "" {
			move.TargetDay = day
			l.addRow(move)
		}
	}
	renaming.lastPos = len(l.rows)
	l.erasures = append(l.erasures, renaming)
	l.cachedSums = cachedSums{}
}

// beginErasure gives some rows of a player another id, as the first steps of an erasure do.
func (l *fakeLedger) beginErasure(formerID, newID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	renaming := erasure{formerID: formerID, newID: newID, lastPos: math.MaxInt}
	for i := range l.rows {
		if row := &l.rows[i]; row.HolderKind == Players && row.Holder == formerID && len(renaming.renamedRows) < 2 {
			row.Holder = newID
			renaming.renamedRows = append(renaming.renamedRows, i)
		}
	}
	l.erasures = append(l.erasures, renaming)
	l.cachedSums = cachedSums{}
}

// undoErasures undoes the erasures that a rollback to a position removes. An erasure is
// one transaction, so it returns the position before the first of them.
func (l *fakeLedger) undoErasures(pos int) int {
	for i, undone := range slices.Backward(l.erasures) {
		if undone.lastPos <= pos {
			break
		}
		pos = min(pos, undone.firstPos-1)
		for _, rowIndex := range undone.renamedRows {
			l.rows[rowIndex].Holder = undone.formerID
		}
		l.erasures = l.erasures[:i]
	}
	l.cachedSums = cachedSums{}
	return pos
}

// rollBack removes the rows after a position.
func (l *fakeLedger) rollBack(pos int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pos = l.undoErasures(pos)
	l.rows = l.rows[:pos]
	maps.DeleteFunc(l.correctedBy, func(_, correctionPos int64) bool { return correctionPos > int64(pos) })
}

func (l *fakeLedger) setError(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *fakeLedger) Epoch() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

func (l *fakeLedger) ReadRows(_ context.Context, _ string, after int64, limit int) ([]Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := min(int(after), len(l.rows))
	return slices.Clone(l.rows[from:min(from+limit, len(l.rows))]), l.err
}

func (l *fakeLedger) Snapshot(_ context.Context, _ string, work func(Snapshot) error) error {
	l.mu.Lock()
	snapshot := Snapshot{Watermark: Watermark{Epoch: l.epoch}}
	if n := len(l.rows); n > 0 {
		last := l.rows[n-1]
		snapshot.Watermark = Watermark{Epoch: l.epoch, Pos: last.Pos, RowID: last.ID, Day: last.Day}
		snapshot.FirstDay = l.rows[0].Day
	}
	snapshot.Sums = l.sumSequence(l.sums(snapshot.Watermark.Pos))
	err := l.err
	l.mu.Unlock()
	if err != nil {
		return err
	}
	return work(snapshot)
}

func (l *fakeLedger) sumSequence(sums []DaySum) iter.Seq2[DaySum, error] {
	return func(yield func(DaySum, error) bool) {
		for _, sum := range sums {
			if l.beforeEachSum != nil {
				l.beforeEachSum()
			}
			if !yield(sum, nil) {
				return
			}
		}
	}
}

func (l *fakeLedger) ReadHolders(_ context.Context, _ string, kind Kind, after string, limit int) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var holders []string
	for _, row := range l.rows {
		if row.HolderKind == kind && row.Holder > after {
			holders = append(holders, row.Holder)
		}
	}
	slices.Sort(holders)
	holders = slices.Compact(holders)
	return holders[:min(limit, len(holders))], l.err
}

func (l *fakeLedger) ReadSums(_ context.Context, _ string, upTo int64, kind Kind, holders []string) ([]DaySum, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(l.sums(upTo), func(sum DaySum) bool {
		return sum.HolderKind != kind || !slices.Contains(holders, sum.Holder)
	}), l.err
}

func (l *fakeLedger) ReadMovingPlayers(_ context.Context, _ string, upTo int64) (ids []string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, renaming := range l.erasures {
		if int64(renaming.lastPos) > upTo {
			ids = append(ids, renaming.formerID, renaming.newID)
		}
	}
	return ids, l.err
}

func (l *fakeLedger) HasDaySums(context.Context, string, string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.hasNoSums, l.err
}

// sums returns the sum of each holder and day up to a position. Callers hold l.mu.
func (l *fakeLedger) sums(upTo int64) []DaySum {
	if cache := l.cachedSums; cache.upTo != upTo || cache.addedRows != l.addedRows || cache.rows != len(l.rows) {
		l.cachedSums = cachedSums{upTo, l.addedRows, len(l.rows), l.computeSums(upTo)}
	}
	return slices.Clone(l.cachedSums.sums)
}

func (l *fakeLedger) computeSums(upTo int64) []DaySum {
	type key struct {
		kind        Kind
		holder, day string
	}
	sums := map[key]DaySum{}
	for _, row := range l.rows[:upTo] {
		if correctionPos := l.correctedBy[row.Pos]; row.Kind != ResultRow || correctionPos > 0 && correctionPos <= upTo {
			continue
		}
		sumKey := key{row.HolderKind, row.Holder, row.Day}
		previous := sums[sumKey]
		sums[sumKey] = DaySum{HolderKind: row.HolderKind, Holder: row.Holder, Day: row.Day, Newest: row.Pos, CommittedAt: row.CommittedAt, Aggregates: previous.Aggregates.Add(row.Aggregates)}
	}
	return slices.SortedFunc(maps.Values(sums), func(x, y DaySum) int {
		return cmp.Or(cmp.Compare(x.HolderKind, y.HolderKind), cmp.Compare(x.Holder, y.Holder), cmp.Compare(x.Day, y.Day))
	})
}

// expectedBoard returns the entries that a board of the given days should have at a
// position.
func (l *fakeLedger) expectedBoard(upTo int64, kind Kind, firstDay, lastDay string) map[string]BoardEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := map[string]BoardEntry{}
	for _, sum := range l.sums(upTo) {
		if sum.HolderKind == kind && sum.Day >= firstDay && sum.Day <= lastDay {
			previous := entries[sum.Holder]
			entries[sum.Holder] = BoardEntry{ID: sum.Holder, Newest: max(previous.Newest, sum.Newest), Aggregates: previous.Aggregates.Add(sum.Aggregates)}
		}
	}
	return entries
}

func (l *fakeLedger) DayVersion(_ context.Context, _, day string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.versions[day], l.err
}

func (l *fakeLedger) ReadDaySums(_ context.Context, _, day string, kind Kind, each func(DaySum) error) error {
	l.mu.Lock()
	l.reads++
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

func (l *fakeLedger) rowCount() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.rows))
}
