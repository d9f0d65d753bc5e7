package leaderboard

import (
	"context"
	"fmt"
	"slices"
)

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

// Top returns the best n entries of a day by value, and the number of ranked entries. It
// never stores more than n entries. A day without results has no entries. An unknown game is
// ErrNoWindow. Other errors come from the ledger.
func (t *TopLists) Top(ctx context.Context, game, date string, kind Kind, n int) (entries []Entry, total int64, err error) {
	cfg, known := t.games[game]
	if !known {
		return nil, 0, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	}
	list := topList{cfg: cfg, order: cfg.RankingOrder(ByValue), limit: n}
	if err := t.days.ReadDaySums(ctx, game, date, kind, list.add); err != nil {
		return nil, 0, fmt.Errorf("top of %s: %w", date, err)
	}
	entries = list.entries()
	entryPointers := make([]*Entry, len(entries))
	for i := range entries {
		entryPointers[i] = &entries[i]
	}
	if err := setNames(ctx, t.names, game, kind, entryPointers); err != nil {
		return nil, 0, fmt.Errorf("names of the top of %s: %w", date, err)
	}
	return entries, list.total, nil
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
	row := l.cfg.rankedEntry(sum, l.order)
	if i, _ := slices.BinarySearchFunc(l.rows, row, RankedEntry.compare); i < l.limit {
		l.rows = slices.Insert(l.rows[:min(len(l.rows), l.limit-1)], i, row)
	}
	return nil
}

// entries returns the best entries with their ranks. No better entry is missing, so the
// ranks can be counted from the entries alone.
func (l *topList) entries() []Entry {
	entries := make([]Entry, len(l.rows))
	for i, row := range l.rows {
		entries[i] = l.cfg.newEntry(row.BoardEntry, int64(i)+1)
		if i > 0 && row.Key == l.rows[i-1].Key {
			entries[i].Rank = entries[i-1].Rank
		}
	}
	return entries
}
