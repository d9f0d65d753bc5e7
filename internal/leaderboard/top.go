package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// NameSource looks up the names of players and teams, by id. *ledger.Ledger implements it.
// Callers pass at most MaxLimit ids. Unknown ids are missing from the result.
type Names interface {
	Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error)
	TeamNames(ctx context.Context, game string, ids []string) (map[string]string, error)
}

// TopEntry is one of the best entries of a day.
type TopEntry struct {
	Rank       int64  // from 1; equal entries share a rank
	Holder     string // id of the player or team
	Name       string // empty: unknown
	Value      int64
	Aggregates Aggregates
}

// TopLists reads the best entries of single days from the ledger. It ranks them like the
// boards, and does not need boards of the day. Safe for concurrent use.
type TopLists struct {
	games map[string]Config
	days  DayStore
	names Names
}

// NewTopLists returns top lists for the given games, whose Configs must be valid.
func NewTopLists(games []Config, days DayStore, names Names) *TopLists {
	t := &TopLists{games: map[string]Config{}, days: days, names: names}
	for _, c := range games {
		t.games[c.Game] = c
	}
	return t
}

// Top returns the best n entries of a day by value, and the number of ranked entries. n is
// 1 to MaxLimit. It never stores more than 2n entries. A day without results has no
// entries. Errors wrap ErrNoWindow for an unknown game, and ErrBadQuery for a bad kind or
// n. Other errors come from the ledger.
func (t *TopLists) Top(ctx context.Context, game, date string, kind Kind, n int) (entries []TopEntry, total int64, err error) {
	cfg, known := t.games[game]
	switch {
	case !known:
		return nil, 0, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	case !slices.Contains(Kinds(), kind):
		return nil, 0, badQuery("kind=%q is unknown; use one of %v", kind, Kinds())
	case n < 1 || n > MaxLimit:
		return nil, 0, badQuery("%d entries are out of range; use 1 to %d", n, MaxLimit)
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

// addNames fills in the names of entries.
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

// topList collects the best entries of a day, in the order of the boards.
type topList struct {
	cfg   Config
	order Order
	n     int        // number of entries to return
	rows  []SliceRow // never more than twice limit
	total int64      // number of ranked entries added
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

// entries returns the best entries with their ranks. No better entry is missing, so the
// ranks can be counted from the entries alone.
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
