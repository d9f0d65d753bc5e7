package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// newGameWithPastDay returns a game without rolling windows, whose day boards are deleted
// soon. It also returns the game's first day, which has many entries.
func newGameWithPastDay(t *testing.T) (game *testGame, day string) {
	t.Helper()
	cfg := weightedConfig()
	cfg.Windows = []Window{All, Day}
	game = newTestGame(cfg)
	random := newRandom(21)
	for i := range 60 {
		game.ledger.addResult(Players, fmt.Sprintf("p%d", random.IntN(30)), random.Int64N(12))
		game.ledger.addResult(Teams, fmt.Sprintf("t%d", i%7), random.Int64N(5))
	}
	game.apply(t)
	return game, game.ledger.day()
}

// waitUntilBoardsAreDeleted starts days until the boards of a day are deleted.
func (g *testGame) waitUntilBoardsAreDeleted(t *testing.T, day string) {
	t.Helper()
	g.ledger.startDays(3)
	g.apply(t)
	g.maintain(t)
	if oldest := g.servedBoardSet().state.OldestDay; oldest <= day {
		t.Fatalf("the oldest day with boards is %s", oldest)
	}
}

// readAnswers returns the pages that many queries of one day get, by a name of the query.
func (g *testGame) readAnswers(t *testing.T, day string) map[string]Page {
	t.Helper()
	answers := map[string]Page{}
	for _, kind := range Kinds() {
		for _, order := range g.cfg.Orders {
			query := Query{Window: Day, Date: day, Kind: kind, Order: order, Limit: 4}
			name := fmt.Sprint(kind, " ", order, " ")
			g.readAllPages(t, answers, name, query)
			for _, entry := range answers[name+"top"].Entries {
				around := query
				around.Around = entry.ID
				answers[name+"around "+entry.ID] = withoutCursors(g.page(t, around))
			}
			query.Players = "p3,p1,t2,nobody,p29"
			answers[name+"players"] = withoutCursors(g.page(t, query))
		}
	}
	return answers
}

// readAllPages reads the pages of a query from the first to the last and back, and stores
// them in answers under name.
func (g *testGame) readAllPages(t *testing.T, answers map[string]Page, name string, query Query) {
	t.Helper()
	page := g.page(t, query)
	answers[name+"top"] = withoutCursors(page)
	for n := 1; page.NextCursor != ""; n++ {
		query.Cursor = page.NextCursor
		page = g.page(t, query)
		answers[fmt.Sprint(name, "down ", n)] = withoutCursors(page)
	}
	for n := 1; page.PrevCursor != ""; n++ {
		query.Cursor = page.PrevCursor
		page = g.page(t, query)
		answers[fmt.Sprint(name, "up ", n)] = withoutCursors(page)
	}
}

// withoutCursors replaces each existing cursor of a page by the same text, so that pages are
// compared without the values of their cursors.
func withoutCursors(page Page) Page {
	for _, c := range []*string{&page.NextCursor, &page.PrevCursor} {
		if *c != "" {
			*c = "exists"
		}
	}
	return page
}

func TestTheArchiveAnswersLikeTheDeletedBoard(t *testing.T) {
	t.Parallel()
	game, day := newGameWithPastDay(t)
	want := game.readAnswers(t, day)
	firstPage := game.page(t, Query{Window: Day, Limit: 4})
	game.waitUntilBoardsAreDeleted(t, day)
	have := game.readAnswers(t, day)
	if len(want) != len(have) || len(want) < 100 {
		t.Fatalf("%d answers before, %d after", len(want), len(have))
	}
	for name, page := range want {
		if !reflect.DeepEqual(have[name], page) {
			t.Errorf("%s:\n%+v, want\n%+v", name, have[name], page)
		}
	}
	// A cursor from the open day continues in the archive.
	nextPage := game.page(t, Query{Window: Day, Limit: 4, Cursor: firstPage.NextCursor})
	if !reflect.DeepEqual(withoutCursors(nextPage), want["player value down 1"]) {
		t.Errorf("the next page is %+v, want %+v", nextPage, want["player value down 1"])
	}
	_, err := game.reader.Page(t.Context(), game.cfg.Game, Query{Window: Day, Date: day, Around: "nobody"})
	if !errors.Is(err, ErrNotRanked) {
		t.Errorf("a query around an unknown player: %v, want ErrNotRanked", err)
	}
}

func TestTheArchiveShowsCorrectionsAtTheNextRead(t *testing.T) {
	t.Parallel()
	game, day := newGameWithPastDay(t)
	game.waitUntilBoardsAreDeleted(t, day)
	query := Query{Window: Day, Date: day, Order: ByScore}
	before := game.page(t, query)
	top := before.Entries[0]
	for pos := range game.ledger.rowCount() {
		if game.ledger.rows[pos].Holder == top.ID {
			game.ledger.correct(pos + 1)
		}
	}
	after := game.page(t, query)
	if after.Total != before.Total-1 || after.Entries[0].ID == top.ID {
		t.Errorf("after all results of %s were corrected, the first of %d entries is %+v", top.ID, after.Total, after.Entries[0])
	}
}

func TestDaysWithoutResultsAndOutsideTheLedgerAreEmpty(t *testing.T) {
	t.Parallel()
	game, day := newGameWithPastDay(t)
	dayWithoutResults := addDays(day, 1)
	game.waitUntilBoardsAreDeleted(t, dayWithoutResults)
	for _, date := range []string{dayWithoutResults, addDays(day, -9)} {
		if page := game.page(t, Query{Window: Day, Date: date}); page.Total != 0 || len(page.Entries) != 0 || page.From != date || page.To != date {
			t.Errorf("%s: %+v", date, page)
		}
	}
	_, err := game.reader.Page(t.Context(), game.cfg.Game, Query{Window: Day, Date: addDays(game.ledger.day(), 1)})
	if !errors.Is(err, ErrBadQuery) {
		t.Errorf("tomorrow: %v", err)
	}
	_, err = game.reader.Page(t.Context(), game.cfg.Game, Query{Window: Day, Date: addDays(game.ledger.day(), -1), Around: "nobody"})
	if !errors.Is(err, ErrNotRanked) {
		t.Errorf("a query around an unknown player on a day that has boards: %v, want ErrNotRanked", err)
	}
}

func TestTheArchiveCachesAFewDays(t *testing.T) {
	t.Parallel()
	ledger := newFakeLedger()
	var days []string
	for range 4 {
		for i := range 9 {
			ledger.addResult(Players, fmt.Sprint("p", i), int64(i))
		}
		days = append(days, ledger.day())
		ledger.startDays(1)
	}
	archive := NewArchive(ledger)
	archive.maxEntries = 2 * 10 // two days
	read := func(day string, wantFetches int) {
		t.Helper()
		readsBefore := ledger.reads
		ranking, err := archive.readRanking(t.Context(), weightedConfig(), RankingID{Game: "demo", Board: Board{Players, day}, Order: ByScore})
		if err != nil || len(ranking.entries) != 9 {
			t.Fatalf("%s: %d entries, %v", day, len(ranking.entries), err)
		}
		if ledger.reads-readsBefore != wantFetches {
			t.Errorf("%s was fetched %d times, want %d", day, ledger.reads-readsBefore, wantFetches)
		}
		if n := len(archive.rankings); n > 2 {
			t.Errorf("%d days are cached", n)
		}
	}
	read(days[0], 1)
	read(days[1], 1)
	read(days[0], 0)
	read(days[2], 1) // clears the cache
	read(days[2], 0)
	read(days[0], 1)
	archive.maxEntries = 5 // fewer entries than a day has
	read(days[3], 1)
	read(days[3], 0)
}

// slowDaySumSource blocks ReadDaySums until release is closed, and counts concurrent calls.
type slowDaySumSource struct {
	*fakeLedger
	release      chan struct{}
	current, max atomic.Int64
}

func (s *slowDaySumSource) ReadDaySums(ctx context.Context, game, day string, kind Kind, each func(DaySum) error) error {
	s.max.Store(max(s.max.Load(), s.current.Add(1)))
	defer s.current.Add(-1)
	select {
	case <-s.release:
		return s.fakeLedger.ReadDaySums(ctx, game, day, kind, each)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestConcurrentReadersFetchADayOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &slowDaySumSource{fakeLedger: newFakeLedger(), release: make(chan struct{})}
		ledger.addResult(Players, "p", 1)
		day := ledger.day()
		ledger.startDays(1)
		archive := NewArchive(ledger)
		read := func(ctx context.Context) error {
			_, err := archive.readRanking(ctx, weightedConfig(), RankingID{Game: "demo", Board: Board{Players, day}, Order: ByScore})
			return err
		}
		cancelledCtx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		readers.Go(func() {
			if err := read(cancelledCtx); !errors.Is(err, context.Canceled) {
				t.Errorf("the reader that cancelled got %v", err)
			}
		})
		synctest.Wait()
		for range 8 {
			readers.Go(func() {
				if err := read(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		cancel() // another reader fetches the day instead
		synctest.Wait()
		close(ledger.release)
		readers.Wait()
		if ledger.reads != 1 {
			t.Errorf("the day was fetched %d times", ledger.reads)
		}
	})
}

// The archive fetches one day at a time, because maxEntries limits only cached days and not
// the memory of concurrent fetches.
func TestDaysAreFetchedOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &slowDaySumSource{fakeLedger: newFakeLedger(), release: make(chan struct{})}
		ledger.addResult(Players, "p", 1)
		day := ledger.day()
		ledger.startDays(9)
		archive := NewArchive(ledger)
		var readers sync.WaitGroup
		for daysLater := range 9 {
			readers.Go(func() {
				_, err := archive.readRanking(t.Context(), weightedConfig(), RankingID{Game: "demo", Board: Board{Players, addDays(day, daysLater)}, Order: ByScore})
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(ledger.release)
		readers.Wait()
		if maxConcurrent := ledger.max.Load(); maxConcurrent != 1 || ledger.reads != 9 {
			t.Errorf("%d days were fetched, %d at the same time", ledger.reads, maxConcurrent)
		}
	})
}

// changingDays is a ledger whose days have a new version at every read.
type changingDays struct{ *fakeLedger }

func (d changingDays) DayVersion(context.Context, string, string) (int64, error) {
	d.versions[""]++
	return d.versions[""], nil
}

func TestADayThatIsCorrectedAllTheTimeIsReadAgainEachTime(t *testing.T) {
	t.Parallel()
	ledger := newFakeLedger()
	archive := NewArchive(changingDays{ledger})
	for want := range 3 {
		_, err := archive.readRanking(t.Context(), weightedConfig(), RankingID{Board: Board{Players, "2026-11-20"}, Order: ByScore})
		if err != nil || ledger.reads != want+1 {
			t.Errorf("%d reads, want %d: %v", ledger.reads, want+1, err)
		}
	}
	ledger = newFakeLedger()
	ledger.setError(errKilled)
	if _, err := NewArchive(ledger).readRanking(t.Context(), weightedConfig(), RankingID{}); !errors.Is(err, errKilled) {
		t.Errorf("without a ledger: %v", err)
	}
}

// After the ledger went back, a day is read again, although its version is the same.
func TestTheArchiveIsReadAgainAfterTheLedgerWentBack(t *testing.T) {
	t.Parallel()
	ledger := newFakeLedger()
	reader := NewReader(nil, nil, NewArchive(ledger), nil)
	for want := range 3 {
		for range 2 {
			if _, err := reader.archive.readRanking(t.Context(), weightedConfig(), RankingID{Board: Board{Players, "2026-11-20"}, Order: ByScore}); err != nil {
				t.Fatal(err)
			}
		}
		if ledger.reads != want+1 {
			t.Errorf("%d reads, want %d", ledger.reads, want+1)
		}
		reader.LedgerWentBack()
	}
}
