package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Names knows who stands on boards; *ledger.Ledger. Both are asked for MaxLimit
// ids at most and leave unknown ones out.
type Names interface {
	Nicknames(ctx context.Context, game string, ids []string) (map[string]string, error)
	TeamNames(ctx context.Context, game string, ids []string) (map[string]string, error)
}

// TopEntry is one of the best of a day.
type TopEntry struct {
	Rank   int64  // from 1; equals share a rank
	Holder string // id of the player or team
	Name   string // "": nobody knows it
	Value  int64
	Parts  Parts
}

// TopLists reads the best of single days from the ledger, whether or not the day
// still has boards, as these rank them. Safe for concurrent use.
type TopLists struct {
	games map[string]Config
	days  DayStore
	names Names
}

// NewTopLists returns the top lists of those games, whose Configs are valid.
func NewTopLists(games []Config, days DayStore, names Names) *TopLists {
	t := &TopLists{games: map[string]Config{}, days: days, names: names}
	for _, c := range games {
		t.games[c.Game] = c
	}
	return t
}

// Top returns the first n entries of a day by value, 1 to MaxLimit, and how many
// are ranked. It holds no more of the day than twice as many. A day without
// results, or that the game has not had, has none. ErrNoWindow: there is no such
// game; ErrBadQuery.
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
	b := best{cfg: cfg, order: cfg.Ranking(ByValue), n: n}
	if err := t.days.DaySums(ctx, game, date, kind, b.add); err != nil {
		return nil, 0, fmt.Errorf("top of %s: %w", date, err)
	}
	entries = b.entries()
	if err := t.name(ctx, game, kind, entries); err != nil {
		return nil, 0, fmt.Errorf("names of the top of %s: %w", date, err)
	}
	return entries, b.total, nil
}

func (t *TopLists) name(ctx context.Context, game string, kind Kind, entries []TopEntry) error {
	if len(entries) == 0 {
		return nil
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.Holder
	}
	ask := t.names.Nicknames
	if kind == Teams {
		ask = t.names.TeamNames
	}
	found, err := ask(ctx, game, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		entries[i].Name = found[id]
	}
	return nil
}

// best keeps the first n of the entries that come by, in the order of the boards.
type best struct {
	cfg   Config
	order Order
	n     int
	rows  []SliceRow // never more than 2n
	total int64      // that are ranked
}

func (b *best) add(s Sum) error {
	if !Rankable(b.order, s.Parts, b.cfg.MinAnswers) {
		return nil
	}
	b.total++
	h := Held{ID: s.Holder, Newest: s.Newest, Parts: s.Parts}
	b.rows = append(b.rows, SliceRow{Held: h, Key: Key(b.order, s.Parts, b.cfg.Weights)})
	if len(b.rows) == 2*b.n {
		b.cut()
	}
	return nil
}

func (b *best) cut() {
	slices.SortFunc(b.rows, func(x, y SliceRow) int {
		return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Newest, y.Newest))
	})
	b.rows = b.rows[:min(len(b.rows), b.n)]
}

// entries are those that are kept: nobody before one of them is missing, so that
// their ranks follow from them alone.
func (b *best) entries() []TopEntry {
	b.cut()
	entries := make([]TopEntry, len(b.rows))
	for i, row := range b.rows {
		e := TopEntry{Rank: int64(i) + 1, Holder: row.ID, Value: Value(row.Parts, b.cfg.Weights), Parts: row.Parts}
		if i > 0 && row.Key == b.rows[i-1].Key {
			e.Rank = entries[i-1].Rank
		}
		entries[i] = e
	}
	return entries
}
