package leaderboard

import "context"

// dayLedger is a fakeLedger that also implements DaySumSource.
type dayLedger struct {
	*fakeLedger
	versions      map[string]int64
	reads         int    // number of calls of ReadDaySums
	beforeEachSum func() // called before each sum of a Snapshot; may be nil
}

func newDayLedger() *dayLedger {
	return &dayLedger{fakeLedger: newFakeLedger(), versions: map[string]int64{}}
}

func (l *dayLedger) correct(pos int64) bool {
	isCorrected := l.fakeLedger.correct(pos)
	if isCorrected {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.versions[l.rows[pos-1].Day]++
	}
	return isCorrected
}

func (l *dayLedger) Snapshot(ctx context.Context, game string, work func(Snapshot) error) error {
	return l.fakeLedger.Snapshot(ctx, game, func(snapshot Snapshot) error {
		sums := snapshot.Sums
		snapshot.Sums = func(yield func(DaySum, error) bool) {
			for sum, err := range sums {
				if l.beforeEachSum != nil {
					l.beforeEachSum()
				}
				if !yield(sum, err) {
					return
				}
			}
		}
		return work(snapshot)
	})
}

func (l *dayLedger) DayVersion(_ context.Context, _, day string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.versions[day], l.err
}

func (l *dayLedger) ReadDaySums(_ context.Context, _, day string, kind Kind, each func(DaySum) error) error {
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

func (l *dayLedger) rowCount() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.rows))
}
