package leaderboard

import "context"

// annals are a book that keeps days too.
type annals struct {
	*book
	versions map[string]int64
	reads    int    // of a day's sums
	before   func() // called before a Snapshot; nil: nothing
	during   func() // called before each sum of one; nil: nothing
}

func newAnnals() *annals { return &annals{book: newBook(), versions: map[string]int64{}} }

func (l *annals) correct(pos int64) bool {
	taken := l.book.correct(pos)
	if taken {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.versions[l.rows[pos-1].Day]++
	}
	return taken
}

func (l *annals) Snapshot(ctx context.Context, game string, work func(Snapshot) error) error {
	if l.before != nil {
		l.before()
	}
	return l.book.Snapshot(ctx, game, func(s Snapshot) error {
		sums := s.Sums
		s.Sums = func(yield func(Sum, error) bool) {
			for sum, err := range sums {
				if l.during != nil {
					l.during()
				}
				if !yield(sum, err) {
					return
				}
			}
		}
		return work(s)
	})
}

func (l *annals) DayVersion(_ context.Context, _, day string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.versions[day], l.err
}

func (l *annals) DaySums(_ context.Context, _, day string, whose Kind, each func(Sum) error) error {
	l.mu.Lock()
	l.reads++
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

func (l *annals) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.rows))
}
