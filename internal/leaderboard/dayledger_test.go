package leaderboard

import "context"

// dayLedger is a fakeLedger that also implements DaySumSource.
type dayLedger struct {
	*fakeLedger
	versions       map[string]int64
	reads          int    // reads of a day's sums
	beforeSnapshot func() // called before a Snapshot; may be nil
	beforeSum      func() // called before each sum of a Snapshot; may be nil
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
	if l.beforeSnapshot != nil {
		l.beforeSnapshot()
	}
	return l.fakeLedger.Snapshot(ctx, game, func(s Snapshot) error {
		sums := s.Sums
		s.Sums = func(yield func(Sum, error) bool) {
			for sum, err := range sums {
				if l.beforeSum != nil {
					l.beforeSum()
				}
				if !yield(sum, err) {
					return
				}
			}
		}
		return work(s)
	})
}

func (l *dayLedger) DayVersion(_ context.Context, _, day string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.versions[day], l.err
}

func (l *dayLedger) ReadDaySums(_ context.Context, _, day string, kind Kind, each func(Sum) error) error {
	l.mu.Lock()
	l.reads++
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

func (l *dayLedger) rowCount() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.rows))
}
