package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// fakeNames is a NameSource that derives names from ids. The player p1 has no name. It refuses
// more ids than MaxLimit.
type fakeNames struct{ err error }

func (f fakeNames) Nicknames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	return f.prefixedNames("player ", ids)
}

func (f fakeNames) TeamNames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	return f.prefixedNames("team ", ids)
}

func (f fakeNames) prefixedNames(prefix string, ids []string) (map[string]string, error) {
	if len(ids) == 0 || len(ids) > MaxLimit {
		return nil, fmt.Errorf("%d names", len(ids))
	}
	found := map[string]string{}
	for _, id := range ids {
		if id != "p1" {
			found[id] = prefix + id
		}
	}
	return found, f.err
}

func (g *testGame) topLists() *TopLists { return NewTopLists([]Config{g.cfg}, g.ledger, fakeNames{}) }

// top returns a top list without names.
func (g *testGame) top(t *testing.T, day string, kind Kind, n int) (entries []Entry, total int64) {
	t.Helper()
	entries, total, err := g.topLists().Top(t.Context(), g.cfg.Game, day, kind, n)
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range entries {
		name := fmt.Sprint(kind, " ", entry.ID)
		if entry.ID == "p1" {
			name = ""
		}
		if entry.Nickname != name {
			t.Errorf("%s is called %q", entry.ID, entry.Nickname)
		}
		entries[i].Nickname = "" // as the reader returns it
	}
	return entries, total
}

// The top lists of a day equal the first pages of the reader, after any results and
// corrections, and whether or not the day's boards were deleted.
func TestTopIsTheFirstPageOfADay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := newRandom(seed)
			cfg := weightedConfig()
			cfg.Windows = []Window{All, Day}
			if seed%2 == 0 {
				cfg.Weights = DefaultWeights
			}
			game := newTestGame(cfg)
			first := game.ledger.day()
			game.playHistory(random, 7, func() {})
			game.apply(t)
			game.maintain(t)
			for n := range 9 { // two of these days are outside the ledger
				day := addDays(first, n-1)
				for _, kind := range Kinds() {
					game.checkTop(t, day, kind)
				}
			}
		})
	}
}

func (g *testGame) checkTop(t *testing.T, day string, kind Kind) {
	t.Helper()
	for _, n := range []int{1, 2, 3, MaxLimit} {
		have, total := g.top(t, day, kind, n)
		if day > g.ledger.day() { // the reader refuses such a day
			if len(have) > 0 || total > 0 {
				t.Errorf("%d of %d entries on a future day", len(have), total)
			}
			continue
		}
		want := g.page(t, Query{Window: Day, Date: day, Kind: kind, Limit: n})
		if total != want.Total || !slices.Equal(have, want.Entries) {
			t.Errorf("the first %d of %s of %s:\n%+v of %d, want\n%+v of %d", n, kind, day, have, total, want.Entries, want.Total)
		}
	}
}

// risingDays is a DaySumSource in which each entry is better than all entries before it, or
// equal to the one before it.
type risingDays struct {
	DaySumSource
	entries int64
}

func (r risingDays) ReadDaySums(_ context.Context, _, _ string, _ Kind, each func(DaySum) error) (err error) {
	for i := range r.entries {
		err = errors.Join(err, each(DaySum{Holder: fmt.Sprint("p", i), Newest: i + 1, Aggregates: Aggregates{Score: i / 2, Matches: 1}}))
	}
	return err
}

// A top list keeps only a few entries in memory, even if each added entry is better than all
// entries before it.
func TestTopListHoldsFewEntries(t *testing.T) {
	t.Parallel()
	const limit, entryCount = 3, 5000
	ranking, err := fetchRanking(t.Context(), risingDays{nil, entryCount}, validConfig(), RankingID{Order: ByScore}, limit)
	if err != nil || cap(ranking.entries) > 4*limit {
		t.Fatalf("the list holds %d entries, with capacity %d (%v)", len(ranking.entries), cap(ranking.entries), err)
	}
	var have []string
	for _, entry := range validConfig().newEntries(RankingSlice{Entries: ranking.entries}) {
		have = append(have, fmt.Sprint(entry.Rank, " ", entry.ID))
	}
	if want := []string{"1 p4998", "1 p4999", "3 p4996"}; !slices.Equal(have, want) || ranking.total != entryCount {
		t.Errorf("the best of %d are %q, want %q", ranking.total, have, want)
	}
}

func TestTopReturnsErrors(t *testing.T) {
	t.Parallel()
	game, day := newGameWithPastDay(t)
	if _, _, err := game.topLists().Top(t.Context(), "another", day, Players, 1); !errors.Is(err, ErrNoWindow) {
		t.Errorf("another game: %v", err)
	}
	nameless := NewTopLists([]Config{game.cfg}, game.ledger, fakeNames{errInjected})
	if _, _, err := nameless.Top(t.Context(), game.cfg.Game, day, Players, 1); !errors.Is(err, errInjected) {
		t.Errorf("without names: %v", err)
	}
	broken := NewTopLists([]Config{game.cfg}, brokenDays{}, fakeNames{})
	if _, _, err := broken.Top(t.Context(), game.cfg.Game, day, Players, 1); !errors.Is(err, errKilled) {
		t.Errorf("without a ledger: %v", err)
	}
}

// brokenDays is a DaySumSource that fails after the first sum of a day.
type brokenDays struct{ DaySumSource }

func (brokenDays) ReadDaySums(_ context.Context, _, _ string, _ Kind, each func(DaySum) error) error {
	return errors.Join(each(DaySum{Holder: "p", Newest: 2, Aggregates: Aggregates{Matches: 1}}), errKilled)
}
