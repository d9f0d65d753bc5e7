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

// book is a ledger in memory, and the oracle of what boards should hold.
type book struct {
	mu       sync.Mutex
	epoch    string
	rows     []Row
	taken    map[int64]int64 // position of a result → of what took it back
	unsummed bool
	err      error
	grown    int // rows that there have ever been: row ids do not come again
	erased   []erasedOne
	reckoned reckoned
}

// reckoned are sums that are asked for again and again.
type reckoned struct {
	upTo        int64
	grown, rows int
	sums        []Sum
}

func newBook() *book {
	b := &book{epoch: "e", taken: map[int64]int64{}}
	b.turn("2026-11-20")
	return b
}

func (b *book) add(r Row) Row {
	b.grown++
	r.Pos, r.ID, r.At = int64(len(b.rows)+1), fmt.Sprint("r", b.grown), int64(1000+len(b.rows))
	if r.Kind != TurnRow {
		r.Day = b.day()
	}
	b.rows = append(b.rows, r)
	return r
}

func (b *book) day() string {
	if len(b.rows) == 0 {
		return ""
	}
	return b.rows[len(b.rows)-1].Day
}

func (b *book) turn(day string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(Row{Kind: TurnRow, Day: day})
}

func (b *book) turns(n int) {
	for range n {
		b.turn(addDays(b.day(), 1))
	}
}

func (b *book) result(whose Kind, holder string, score int64) Row {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(Row{Kind: ResultRow, Whose: whose, Holder: holder, Parts: Parts{
		Score: score, TimeMS: 100 + score, LimitMS: 1000, Matches: 1, Asked: 2, Answered: 2, Correct: score % 3,
	}})
}

// correct takes back the result at a position, if there is one that counts.
func (b *book) correct(pos int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.rows[pos-1]
	if was.Kind != ResultRow || b.taken[pos] > 0 {
		return false
	}
	b.taken[pos] = int64(len(b.rows) + 1)
	r := Row{Kind: CorrectionRow, Whose: was.Whose, Holder: was.Holder, Parts: Parts{}.Sub(was.Parts), Of: was.Day}
	for _, other := range b.rows {
		if other.Kind != ResultRow || other.Whose != was.Whose || other.Holder != was.Holder || b.taken[other.Pos] > 0 {
			continue
		}
		r.Newest = other.Pos
		if other.Day == was.Day {
			r.NewestOfThatDay = other.Pos
		}
	}
	b.add(r)
	return true
}

// newest is the position of a holder's newest result of a day that counts.
func (b *book) newest(whose Kind, holder, day string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range slices.Backward(b.rows) {
		if r.Kind == ResultRow && r.Whose == whose && r.Holder == holder && r.Day == day && b.taken[r.Pos] == 0 {
			return r.Pos
		}
	}
	return 1 // the first row, which is a turn
}

// erasedOne is a holder whose rows have another one's id since rows from a position
// on, which move the entries.
type erasedOne struct {
	from, to    string
	first, last int
	renamed     []int // rows
}

// erase gives the rows of a player another id, and moves the entries. Wiped, the
// moves do not say any more whose.
func (b *book) erase(from, to string, wiped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := erasedOne{from: from, to: to, first: len(b.rows) + 1}
	days := []string{b.day()}
	for i := range b.rows {
		if r := &b.rows[i]; r.Whose == Players && r.Holder == from {
			r.Holder = to
			e.renamed = append(e.renamed, i)
			days = append(days, r.Day)
		}
	}
	move := Row{Kind: MoveRow, Whose: Players, Holder: to, From: from}
	if wiped {
		move.From = ""
	}
	b.add(move)
	slices.Sort(days)
	for _, day := range days {
		if day > LastMoved(move.Of) || move.Of == "" {
			move.Of = day
			b.add(move)
		}
	}
	e.last = len(b.rows)
	b.erased = append(b.erased, e)
	b.reckoned = reckoned{}
}

// unerase undoes the erasures that a rollback to a position takes away, which are
// transactions: it gives the position that is rolled back to.
func (b *book) unerase(to int) int {
	for i, e := range slices.Backward(b.erased) {
		if e.last <= to {
			break
		}
		to = min(to, e.first-1)
		for _, row := range e.renamed {
			b.rows[row].Holder = e.from
		}
		b.erased = b.erased[:i]
	}
	b.reckoned = reckoned{}
	return to
}

// rollBack takes the newest rows away.
func (b *book) rollBack(to int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	to = b.unerase(to)
	b.rows = b.rows[:to]
	maps.DeleteFunc(b.taken, func(_, by int64) bool { return by > int64(to) })
}

func (b *book) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *book) Epoch() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

func (b *book) Rows(_ context.Context, _ string, after int64, limit int) ([]Row, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := min(int(after), len(b.rows))
	return slices.Clone(b.rows[from:min(from+limit, len(b.rows))]), b.err
}

func (b *book) Snapshot(_ context.Context, _ string, work func(Snapshot) error) error {
	b.mu.Lock()
	s := Snapshot{Mark: Watermark{Epoch: b.epoch}}
	if n := len(b.rows); n > 0 {
		last := b.rows[n-1]
		s.Mark = Watermark{Epoch: b.epoch, Pos: last.Pos, RowID: last.ID, Day: last.Day}
		s.First = b.rows[0].Day
	}
	s.Sums = each(b.sums(s.Mark.Pos))
	err := b.err
	b.mu.Unlock()
	if err != nil {
		return err
	}
	return work(s)
}

func each(sums []Sum) iter.Seq2[Sum, error] {
	return func(yield func(Sum, error) bool) {
		for _, s := range sums {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (b *book) Holders(_ context.Context, _ string, whose Kind, after string, limit int) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, r := range b.rows {
		if r.Whose == whose && r.Holder > after {
			all = append(all, r.Holder)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(limit, len(all))], b.err
}

func (b *book) SumsOf(_ context.Context, _ string, upTo int64, whose Kind, holders []string) ([]Sum, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(b.sums(upTo), func(s Sum) bool {
		return s.Whose != whose || !slices.Contains(holders, s.Holder)
	}), b.err
}

func (b *book) Summed(context.Context, string, string) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.unsummed, b.err
}

// sums are what each holder has from each day up to a position.
func (b *book) sums(upTo int64) []Sum {
	if k := b.reckoned; k.upTo != upTo || k.grown != b.grown || k.rows != len(b.rows) {
		b.reckoned = reckoned{upTo, b.grown, len(b.rows), b.reckon(upTo)}
	}
	return slices.Clone(b.reckoned.sums)
}

func (b *book) reckon(upTo int64) []Sum {
	type key struct {
		whose       Kind
		holder, day string
	}
	sums := map[key]Sum{}
	for _, r := range b.rows[:upTo] {
		if by := b.taken[r.Pos]; r.Kind != ResultRow || by > 0 && by <= upTo {
			continue
		}
		k := key{r.Whose, r.Holder, r.Day}
		s := sums[k]
		sums[k] = Sum{Whose: r.Whose, Holder: r.Holder, Day: r.Day, Newest: r.Pos, At: r.At, Parts: s.Parts.Add(r.Parts)}
	}
	return slices.SortedFunc(maps.Values(sums), func(x, y Sum) int {
		return cmp.Or(cmp.Compare(x.Whose, y.Whose), cmp.Compare(x.Holder, y.Holder), cmp.Compare(x.Day, y.Day))
	})
}

// board is what a board should hold: the results of days from one to another
// among the rows up to a position.
func (b *book) board(upTo int64, whose Kind, from, to string) map[string]Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := map[string]Held{}
	for _, s := range b.sums(upTo) {
		if s.Whose == whose && s.Day >= from && s.Day <= to {
			h := held[s.Holder]
			held[s.Holder] = Held{ID: s.Holder, Newest: max(h.Newest, s.Newest), Parts: h.Parts.Add(s.Parts)}
		}
	}
	return held
}
