package leaderboard

import (
	"context"
	"fmt"
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
	return &TopLists{configsByGame(games), days, names}
}

// Top returns the best n entries of a day by value, and the number of ranked entries. It
// stores less than 2n entries. A day without results has no entries. An unknown game is
// ErrNoWindow. Other errors come from the ledger.
func (t *TopLists) Top(ctx context.Context, game, date string, kind Kind, n int) (entries []Entry, total int64, err error) {
	cfg, known := t.games[game]
	if !known {
		return nil, 0, fmt.Errorf("%w: no game %q", ErrNoWindow, game)
	}
	rankingID := RankingID{Game: game, Board: Board{kind, date}, Order: cfg.RankingOrder(ByValue)}
	ranking, err := fetchRanking(ctx, t.days, cfg, rankingID, n)
	if err != nil {
		return nil, 0, err
	}
	entries = cfg.newEntries(RankingSlice{Entries: ranking.entries})
	if err := setNames(ctx, t.names, game, kind, pointersTo(entries)); err != nil {
		return nil, 0, fmt.Errorf("names of the top of %s: %w", date, err)
	}
	return entries, ranking.total, nil
}

// pointersTo returns a pointer to each entry.
func pointersTo(entries []Entry) []*Entry {
	pointers := make([]*Entry, len(entries))
	for i := range entries {
		pointers[i] = &entries[i]
	}
	return pointers
}
