package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Names looks up the names of players and teams; *ledger.Ledger implements it. Callers
// pass at most MaxLimit ids. Unknown ids are missing from the answer.
type Names interface {
	Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error)
	TeamNames(ctx context.Context, game string, ids []string) (map[string]string, error)
}

// TopEntry is one of the best entries of a day.
type TopEntry struct {
	Rank       int64  // from 1; equals share a rank
	Holder     string // id of the player or team
	Name       string // "": unknown
	Value      int64
	Aggregates Aggregates
}

// TopLists reads the best entries of single days from the ledger, ranked like the
// boards, whether or not the day still has boards. Safe for concurrent use.
type TopLists struct {
	games map[string]Config
	days  DayStore
	names Names
}

// NewTopLists returns the top lists of games. Their Configs must be valid.
func NewTopLists(games []Config, days DayStore, names Names) *TopLists {
	t := &TopLists{games: map[string]Config{}, days: days, names: names}
	for _, c := range games {
		t.games[c.Game] = c
	}
	return t
}

// Top returns the first n entries (1 to MaxLimit) of a day by value, and the number of
// ranked entries. It never holds more than 2n entries. A day without results has none.
// Errors wrap ErrNoWindow for an unknown game, and ErrBadQuery.
func (t *TopLists) Top(ctx context.Context, game, date string, kind Kind, n int) (entries []TopEntry, total int64, err error) {
	cfg, known := t.games[game]
	switch {
	case !known:
		return nil, 0, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	case !slices.Contains(Kinds(), kind):
		return nil, 0, badQuery("kind=%q: one of %v", kind, Kinds())
	case n < 1 || n > MaxLimit:
		return nil, 0, badQuery("%d entries: 1 to %d", n, MaxLimit)
	}
	b := topList{cfg: cfg, order: cfg.Ranking(ByValue), n: n}
	if err := t.days.ReadDaySums(ctx, game, date, kind, b.add); err != nil {
		return nil, 0, fmt.Errorf("top of %s: %w", date, err)
	}
	entries = b.entries()
	if err := t.addNames(ctx, game, kind, entries); err != nil {
		return nil, 0, fmt.Errorf("names of the top of %s: %w", date, err)
	}
	return entries, b.total, nil
}

func (t *TopLists) addNames(ctx context.Context, game string, kind Kind, entries []TopEntry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Holder
	}
	lookUp := t.names.Nicknames
	if kind == Teams {
		lookUp = t.names.TeamNames
	}
	found, err := lookUp(ctx, game, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		entries[i].Name = found[id]
	}
	return nil
}

// topList keeps the first n of the entries that are added, in the order of the boards.
type topList struct {
	cfg   Config
	order Order
	n     int
	rows  []SliceRow // never more than 2n
	total int64      // ranked entries
}

func (b *topList) add(s Sum) error {
	if !Rankable(b.order, s.Aggregates, b.cfg.MinAnswers) {
		return nil
	}
	b.total++
	entry := BoardEntry{ID: s.Holder, Newest: s.Newest, Aggregates: s.Aggregates}
	b.rows = append(b.rows, SliceRow{BoardEntry: entry, Key: Key(b.order, s.Aggregates, b.cfg.Weights)})
	if len(b.rows) == 2*b.n {
		b.trim()
	}
	return nil
}

func (b *topList) trim() {
	slices.SortFunc(b.rows, func(x, y SliceRow) int {
		return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Newest, y.Newest))
	})
	b.rows = b.rows[:min(len(b.rows), b.n)]
}

// entries returns the kept entries. All entries before them are kept too, so their ranks
// follow from them alone.
func (b *topList) entries() []TopEntry {
	b.trim()
	entries := make([]TopEntry, len(b.rows))
	for i, row := range b.rows {
		e := TopEntry{Rank: int64(i) + 1, Holder: row.ID, Value: Value(row.Aggregates, b.cfg.Weights), Aggregates: row.Aggregates}
		if i > 0 && row.Key == b.rows[i-1].Key {
			e.Rank = entries[i-1].Rank
		}
		entries[i] = e
	}
	return entries
}
