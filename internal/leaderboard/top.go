package leaderboard

import (
	"context"
	"fmt"
	"slices"
)

// NameSource looks up the names of players and teams, by id. *ledger.Names implements it.
// Callers pass at most MaxLimit ids. Unknown ids are missing from the result.
type NameSource interface {
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
	days  DaySumSource
	names NameSource
}

// NewTopLists returns top lists for the given games, whose Configs must be valid.
func NewTopLists(games []Config, days DaySumSource, names NameSource) *TopLists {
	lists := &TopLists{games: map[string]Config{}, days: days, names: names}
	for _, cfg := range games {
		lists.games[cfg.Game] = cfg
	}
	return lists
}

// Top returns the best n entries of a day by value, and the number of ranked entries. n is
// 1 to MaxLimit. It never stores more than n entries. A day without results has no
// entries. Errors wrap ErrNoWindow for an unknown game, and ErrBadQuery for a bad kind or
// n. Other errors come from the ledger.
func (t *TopLists) Top(ctx context.Context, game, date string, kind Kind, n int) (entries []TopEntry, total int64, err error) {
	cfg, known := t.games[game]
	switch {
	case !known:
		return nil, 0, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	case !slices.Contains(Kinds(), kind):
		return nil, 0, queryError("kind=%q is unknown; use one of %v", kind, Kinds())
	case n < 1 || n > MaxLimit:
		return nil, 0, queryError("%d entries are out of range; use 1 to %d", n, MaxLimit)
	}
	list := topList{cfg: cfg, order: cfg.RankingOrder(ByValue), limit: n}
	if err := t.days.ReadDaySums(ctx, game, date, kind, list.add); err != nil {
		return nil, 0, fmt.Errorf("top of %s: %w", date, err)
	}
	entries = list.entries()
	if err := t.addNames(ctx, game, kind, entries); err != nil {
		return nil, 0, fmt.Errorf("names of the top of %s: %w", date, err)
	}
	return entries, list.total, nil
}

// addNames fills in the names of entries.
func (t *TopLists) addNames(ctx context.Context, game string, kind Kind, entries []TopEntry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]string, len(entries))
	for i, entry := range entries {
		ids[i] = entry.Holder
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
	limit int           // maximum length of rows
	rows  []RankedEntry // the best entries so far, best first
	total int64         // number of ranked entries added
}

func (l *topList) add(sum DaySum) error {
	if !Rankable(l.order, sum.Aggregates, l.cfg.MinAnswers) {
		return nil
	}
	l.total++
	entry := BoardEntry{ID: sum.Holder, Newest: sum.Newest, Aggregates: sum.Aggregates}
	row := RankedEntry{BoardEntry: entry, Key: Key(l.order, sum.Aggregates, l.cfg.Weights)}
	if i, _ := slices.BinarySearchFunc(l.rows, row, RankedEntry.compare); i < l.limit {
		l.rows = slices.Insert(l.rows[:min(len(l.rows), l.limit-1)], i, row)
	}
	return nil
}

// entries returns the best entries with their ranks. No better entry is missing, so the
// ranks can be counted from the entries alone.
func (l *topList) entries() []TopEntry {
	entries := make([]TopEntry, len(l.rows))
	for i, row := range l.rows {
		entries[i] = TopEntry{Rank: int64(i) + 1, Holder: row.ID, Value: Value(row.Aggregates, l.cfg.Weights), Aggregates: row.Aggregates}
		if i > 0 && row.Key == l.rows[i-1].Key {
			entries[i].Rank = entries[i-1].Rank
		}
	}
	return entries
}
